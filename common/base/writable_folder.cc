#include "common/base/writable_folder.h"

#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "common/base/error_number.h"
#include "common/base/unix_account.h"

namespace trainctl::base {
namespace {

namespace fs = std::filesystem;

// The folder, or the nearest above it that is there.
fs::path ExistingPart(const std::string& folder) {
  std::error_code error;
  fs::path part = fs::absolute(folder, error);
  while (!fs::exists(part, error) && part.has_relative_path()) part = part.parent_path();
  return part;
}

// The kernel's own files, to which root adds none either.
bool IsOfKernel(const fs::path& folder) {
  struct statfs disk = {};
  if (::statfs(folder.c_str(), &disk) != 0) return false;
  return disk.f_type == PROC_SUPER_MAGIC || disk.f_type == SYSFS_MAGIC;
}

}  // namespace

Status CheckWritableFolder(const std::string& folder) {
  const fs::path part = ExistingPart(folder);
  std::error_code error;
  const std::string expected =
      ": expected a folder in which user " + UserName(::geteuid()) + " may make files";
  if (!fs::is_directory(part, error))
    return Error{Code::kIo, part.string() + ": Not a directory" + expected};
  if (IsOfKernel(part)) return Error{Code::kIo, part.string() + ": Of the kernel" + expected};
  if (::access(part.c_str(), W_OK | X_OK) == 0) return Ok{};
  return Error{Code::kIo, part.string() + ": " + std::strerror(errno) + expected};
}

Result<int64_t> FreeBytes(const std::string& folder) {
  const fs::path part = ExistingPart(folder);
  struct statvfs disk = {};
  const bool tells = ::statvfs(part.c_str(), &disk) == 0;
  if (tells && disk.f_blocks == 0)  // a file system of its own kind may know no sizes
    return Error{Code::kIo, part.string() + ": its file system tells no size"};
  if (tells) return static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize);
  return OsError(part.string(), errno);
}

}  // namespace trainctl::base
