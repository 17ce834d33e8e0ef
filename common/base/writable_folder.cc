#include "common/base/writable_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace trainctl::base {

Status CheckWritableFolder(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path part = fs::absolute(folder, error);
  while (!fs::exists(part, error) && part.has_relative_path()) part = part.parent_path();
  const std::string expected =
      ": expected a folder in which user " + std::to_string(::geteuid()) + " may make files";
  if (!fs::is_directory(part, error))
    return Error{Code::kIo, part.string() + ": Not a directory" + expected};
  if (::access(part.c_str(), W_OK | X_OK) == 0) return Ok{};
  return Error{Code::kIo, part.string() + ": " + std::strerror(errno) + expected};
}

}  // namespace trainctl::base
