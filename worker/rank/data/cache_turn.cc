#include "worker/rank/data/cache_turn.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>

namespace trainctl::data {
namespace {

using Clock = std::chrono::steady_clock;

// What the holder told last.
std::optional<int64_t> ToldIn(int fd) {
  int64_t done_bytes = 0;
  if (::pread(fd, &done_bytes, sizeof done_bytes, 0) != sizeof done_bytes) return std::nullopt;
  return done_bytes;
}

// Whether the lock is had in the end.
bool Lock(int fd, const CacheTurn::Progress& waits, const TurnPatience& patience) {
  std::optional<int64_t> told;
  Clock::time_point moved = Clock::now();
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return false;
    if (const auto now = ToldIn(fd); now != told) {
      told = now;
      moved = Clock::now();
      if (told && waits) waits(*told);
    }
    if (Clock::now() - moved >= std::chrono::milliseconds(patience.standstill_ms)) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(patience.poll_ms));
  }
  return true;
}

}  // namespace

CacheTurn::CacheTurn(const std::string& path, const Progress& waits, const TurnPatience& patience)
    : path_(path + ".turn") {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd_ < 0 || Lock(fd_, waits, patience)) return;
  ::close(fd_);
  fd_ = -1;
}

// Who waits has the file open, and its turn is next. Who comes later makes another, and finds what
// was made.
CacheTurn::~CacheTurn() {
  if (fd_ < 0) return;
  ::unlink(path_.c_str());
  ::close(fd_);
}

void CacheTurn::Tell(int64_t done_bytes) const {
  if (fd_ < 0) return;
  // A full disk costs those who wait their patience alone.
  if (::pwrite(fd_, &done_bytes, sizeof done_bytes, 0) < 0) return;
}

}  // namespace trainctl::data
