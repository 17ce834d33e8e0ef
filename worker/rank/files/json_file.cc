#include "worker/rank/files/json_file.h"

#include <cstddef>

#include "common/base/file.h"
#include "worker/rank/files/hf_directory.h"
#include "worker/rank/files/json_text.h"

namespace trainctl::files {
namespace {

constexpr size_t kMaxBytes = 64 << 20;  // one may list every added token

}  // namespace

base::Status ReadJsonFile(const std::string& directory, const std::string& name,
                          const ReadKeys& read) {
  if (!HasFile(directory, name)) return base::Ok{};
  const std::string path = directory + "/" + name;
  const auto text = base::ReadRegularFile(path, kMaxBytes);
  if (!text) return text.error();
  const auto document = ParseJsonText(*text, path);
  if (!document) return document.error();
  Fault fault;
  read(JsonObject(*document, path + ": ", &fault));
  if (fault) return *fault;
  return base::Ok{};
}

}  // namespace trainctl::files
