#include "worker/rank/data/cache_turn.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace trainctl::data {

CacheTurn::CacheTurn(const std::string& path) : path_(path + ".turn") {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  while (fd_ >= 0 && ::flock(fd_, LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    ::close(fd_);
    fd_ = -1;
  }
}

// Who waits has the file open, and its turn is next. Who comes later makes another, and finds what
// was made.
CacheTurn::~CacheTurn() {
  if (fd_ < 0) return;
  ::unlink(path_.c_str());
  ::close(fd_);
}

}  // namespace trainctl::data
