#include "common/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "common/base/descriptor.h"
#include "common/base/error_number.h"
#include "common/base/regular_file.h"

namespace trainctl::base {
namespace {

// Reads errno.
Error SystemError(std::string_view what, const std::string& path) {
  const int error = errno;
  return OsError("cannot " + std::string(what) + " " + path, error);
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool WriteAll(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    content.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

std::string TemporaryName(const std::string& path) {
  static std::atomic<uint64_t> next{0};
  return path + "." + std::to_string(::getpid()) + "." + std::to_string(next++) + ".tmp";
}

// At first under a temporary name, which nobody else is to hear of.
Status WriteAndSync(const std::string& path, const std::string& temporary, std::string_view content,
                    unsigned mode) {
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!file.open()) return SystemError("create", path);
  if (!WriteAll(file.get(), content)) return SystemError("write", path);
  if (::fsync(file.get()) != 0) return SystemError("sync", path);
  // What close says counts: a network file system reports a failed write only there.
  if (::close(file.Release()) != 0) return SystemError("close", path);
  return Ok{};
}

Result<std::string> ReadAll(const Descriptor& file, const std::string& path, size_t max_bytes) {
  std::string content;
  char buffer[1 << 16];
  while (true) {
    const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError("read", path);
    if (count == 0) return content;
    if (static_cast<size_t>(count) > max_bytes - content.size()) {
      return Error{Code::kExhausted, path + " is larger than " + std::to_string(max_bytes) +
                                         " bytes, the most that is read here"};
    }
    content.append(buffer, static_cast<size_t>(count));
  }
}

std::string_view KindOf(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR: return "a directory";
    case S_IFIFO: return "a FIFO";
    case S_IFSOCK: return "a socket";
    case S_IFCHR:
    case S_IFBLK: return "a device";
    default: return "of an unknown kind";
  }
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, size_t max_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) return SystemError("open", path);
  return ReadAll(file, path, max_bytes);
}

Status CheckRegular(int fd, const std::string& path) {
  struct stat status;
  if (::fstat(fd, &status) != 0) return SystemError("stat", path);
  if (S_ISREG(status.st_mode)) return Ok{};
  return Error{Code::kInvalid,
               path + " is " + std::string(KindOf(status.st_mode)) + ", expected a regular file"};
}

Result<std::string> ReadRegularFile(const std::string& path, size_t max_bytes) {
  const Result<Descriptor> file = OpenRegular(path);
  if (!file) return file.error();
  return ReadAll(*file, path, max_bytes);
}

Status WriteFileAtomically(const std::string& path, std::string_view content, unsigned mode) {
  const std::string temporary = TemporaryName(path);
  Status written = WriteAndSync(path, temporary, content, mode);
  if (written.ok() && ::rename(temporary.c_str(), path.c_str()) != 0)
    written = SystemError("rename " + temporary + " to", path);
  if (!written.ok()) {
    ::unlink(temporary.c_str());
    return written;
  }
  return SyncFolder(FolderOf(path));
}

Status SyncFolder(const std::string& folder) {
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.open()) return SystemError("open the folder", folder);
  // Some file systems cannot sync a folder and say EINVAL: there is nothing more to do then.
  if (::fsync(directory.get()) != 0 && errno != EINVAL)
    return SystemError("sync the folder", folder);
  return Ok{};
}

bool IsFileName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos;
}

}  // namespace trainctl::base
