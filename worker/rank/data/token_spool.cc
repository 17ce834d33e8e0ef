#include "worker/rank/data/token_spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "common/base/check.h"
#include "worker/rank/files/mapped_file.h"

namespace trainctl::data {
namespace {

constexpr int64_t kWrittenAtOnce = 1 << 20;  // tokens
constexpr int64_t kTokenBytes = sizeof(int32_t);

bool WriteTo(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

void ReadFrom(int fd, std::span<std::byte> bytes) {
  for (off_t at = 0; !bytes.empty();) {
    const ssize_t read = ::pread(fd, bytes.data(), bytes.size(), at);
    if (read < 0 && errno == EINTR) continue;
    CHECK(read > 0) << "tokens that were written can't be read: errno " << errno;
    bytes = bytes.subspan(static_cast<size_t>(read));
    at += read;
  }
}

}  // namespace

TokenSpool::TokenSpool(TokenSpool&& other) noexcept
    : folder_(std::move(other.folder_)),
      most_in_memory_(other.most_in_memory_),
      fd_(std::exchange(other.fd_, -1)),
      written_(std::exchange(other.written_, 0)),
      rest_(std::move(other.rest_)) {}

TokenSpool::~TokenSpool() {
  if (fd_ >= 0) ::close(fd_);
}

void TokenSpool::Append(std::span<const int32_t> ids) {
  rest_.insert(rest_.end(), ids.begin(), ids.end());
  if (folder_.empty() || size() <= most_in_memory_) return;
  if (fd_ < 0 || std::ssize(rest_) >= kWrittenAtOnce) Write();
}

void TokenSpool::Write() {
  if (fd_ < 0 && !OpenFile()) {
    folder_.clear();
    return;
  }
  if (!WriteTo(fd_, std::as_bytes(std::span(rest_)))) return ReadBack();
  written_ += std::ssize(rest_);
  rest_.clear();
}

bool TokenSpool::OpenFile() {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  std::string name = folder_ + "/spool-XXXXXX";
  fd_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd_ < 0) return false;
  ::unlink(name.c_str());
  return true;
}

void TokenSpool::ReadBack() {
  std::vector<int32_t> all(static_cast<size_t>(written_));
  ReadFrom(fd_, std::as_writable_bytes(std::span(all)));
  all.insert(all.end(), rest_.begin(), rest_.end());
  rest_ = std::move(all);
  written_ = 0;
  ::close(std::exchange(fd_, -1));
  folder_.clear();
}

TokenStore TokenSpool::Take() {
  if (fd_ >= 0 && !rest_.empty()) Write();
  if (fd_ >= 0) {
    auto file = files::MappedFile::OfDescriptor(fd_, folder_ + "/spool");
    if (file) {
      ::close(std::exchange(fd_, -1));
      written_ = 0;
      return {std::move(*file), 0, kTokenBytes};
    }
    ReadBack();
  }
  return TokenStore(std::exchange(rest_, {}));
}

}  // namespace trainctl::data
