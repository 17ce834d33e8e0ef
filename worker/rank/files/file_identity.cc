#include "worker/rank/files/file_identity.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "common/base/error_number.h"

namespace trainctl::files {
namespace {

int64_t Nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

base::Result<FileIdentity> IdentityOf(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return base::OsError("cannot stat '" + path + "'", errno);
  return FileIdentity{.device = status.st_dev,
                      .inode = status.st_ino,
                      .bytes = status.st_size,
                      .modified_ns = Nanoseconds(status.st_mtim),
                      .changed_ns = Nanoseconds(status.st_ctim)};
}

}  // namespace trainctl::files
