#include "worker/files/text_file.h"

#include <filesystem>

#include "worker/files/mapped_file.h"

namespace trainctl::files {

base::Result<std::string> ReadTextFile(const std::string& path, int64_t max_bytes) {
  auto file = MappedFile::Open(path);
  if (!file) return file.error();
  const int64_t size = file->text().size();
  if (size > max_bytes) {
    return base::Error{base::Code::kInvalid,
                       path + ": " + std::to_string(size) + " bytes, expected at most " + std::to_string(max_bytes)};
  }
  return std::string(file->text());
}

bool FileExists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

}  // namespace trainctl::files
