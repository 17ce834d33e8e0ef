#include "worker/rank/data/cache_turn.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>

#include "common/base/utf8.h"

namespace trainctl::data {
namespace {

constexpr size_t kMaxNameBytes = 200;

using Clock = std::chrono::steady_clock;

// What the holder told last.
std::optional<int64_t> ToldIn(int fd) {
  int64_t done_bytes = 0;
  if (::pread(fd, &done_bytes, sizeof done_bytes, 0) != sizeof done_bytes) return std::nullopt;
  return done_bytes;
}

// Behind what it told.
std::string NameIn(int fd) {
  std::array<char, kMaxNameBytes> name;
  const ssize_t bytes = ::pread(fd, name.data(), name.size(), sizeof(int64_t));
  if (bytes <= 0) return "another process";
  return base::Excerpt({name.data(), static_cast<size_t>(bytes)}, kMaxNameBytes);
}

// Whether the lock is had in the end.
bool Lock(int fd, const CacheTurn::Progress& waits, const TurnTalk& talk) {
  std::optional<int64_t> told;
  Clock::time_point moved = Clock::now();
  for (int polls = 0; ::flock(fd, LOCK_EX | LOCK_NB) != 0; ++polls) {
    if (errno != EWOULDBLOCK && errno != EINTR) return false;
    // The holder has had a moment to give its name.
    if (polls == 1 && talk.waits_for) talk.waits_for(NameIn(fd));
    if (const auto now = ToldIn(fd); now != told) {
      told = now;
      moved = Clock::now();
      if (told && waits) waits(*told);
    }
    const bool stands =
        Clock::now() - moved >= std::chrono::milliseconds(talk.patience.standstill_ms);
    if (stands && polls > 0) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(talk.patience.poll_ms));
  }
  return true;
}

}  // namespace

CacheTurn::CacheTurn(const std::string& path, const Progress& waits, const TurnTalk& talk)
    : path_(path + ".turn") {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd_ < 0) return;
  if (Lock(fd_, waits, talk)) {
    TellName(talk.name);
    return;
  }
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

// What an earlier holder told, which did not end its turn, is dropped.
void CacheTurn::TellName(const std::string& name) const {
  if (::ftruncate(fd_, 0) != 0) return;
  const std::string_view known = std::string_view(name).substr(0, kMaxNameBytes);
  if (::pwrite(fd_, known.data(), known.size(), sizeof(int64_t)) < 0) return;
}

void CacheTurn::Tell(int64_t done_bytes) const {
  if (fd_ < 0) return;
  // A full disk costs those who wait their patience alone.
  if (::pwrite(fd_, &done_bytes, sizeof done_bytes, 0) < 0) return;
}

}  // namespace trainctl::data
