#include "worker/rank/data/picture_spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace trainctl::data {
namespace {

bool WriteWhole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

int OpenNameless(const std::string& folder) {
  if (folder.empty()) return -1;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::string name = folder + "/pictures-XXXXXX";
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd >= 0) ::unlink(name.c_str());
  return fd;
}

}  // namespace

PictureSpool::~PictureSpool() {
  if (fd_ >= 0) ::close(fd_);
}

base::Result<images::PictureFile> PictureSpool::Append(std::string_view bytes, std::string name) {
  if (fd_ < 0) fd_ = OpenNameless(folder_);
  if (fd_ < 0 || !WriteWhole(fd_, bytes)) {
    return base::Error{base::Code::kExhausted,
                       "pictures can't be kept in the cache folder '" + folder_ +
                           "': " + (folder_.empty() ? "there is none" : std::strerror(errno))};
  }
  const int64_t begin = std::exchange(written_, written_ + std::ssize(bytes));
  return images::PictureFile{.path = "/proc/self/fd/" + std::to_string(fd_),
                             .begin = begin,
                             .bytes = std::ssize(bytes),
                             .name = std::move(name)};
}

}  // namespace trainctl::data
