#include "worker/rank/files/json_file.h"

#include "common/base/file.h"
#include "worker/rank/files/hf_directory.h"
#include "worker/rank/files/json_text.h"

namespace trainctl::files {

base::Status ReadJsonFile(const std::string& directory, const std::string& name,
                          const ReadKeys& read, size_t max_bytes) {
  if (!HasFile(directory, name)) return base::Ok{};
  const std::string path = directory + "/" + name;
  const auto text = base::ReadRegularFile(path, max_bytes);
  if (!text) return text.error();
  const auto document = ParseJsonText(*text, path);
  if (!document) return document.error();
  Fault fault;
  read(JsonObject(*document, path + ": ", &fault));
  if (fault) return *fault;
  return base::Ok{};
}

}  // namespace trainctl::files
