#include "server/store/open_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace trainctl::store {

OpenFiles::OpenFiles(const std::string& path) {
  for (const char* suffix : {"", "-wal"})
    files_.push_back({path + suffix, IdentityOf(path + suffix)});
}

// Not the file's times: whoever asks for these makes the next fsync of what is written dearer.
std::optional<OpenFiles::Identity> OpenFiles::IdentityOf(const std::string& path) {
  struct statx status{};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_INO, &status) != 0) return std::nullopt;
  return Identity{makedev(status.stx_dev_major, status.stx_dev_minor), status.stx_ino};
}

base::Status OpenFiles::CheckInPlace() const {
  for (const Opened& file : files_) {
    const std::optional<Identity> there = IdentityOf(file.path);
    if (there == file.identity) continue;
    return base::Error{
        base::Code::kIo,
        file.path + (there ? " was replaced" : " was moved away or removed") +
            " while the coordinator has it open (/proc/" + std::to_string(::getpid()) +
            "/fd): what it stored now would be lost; put that file back, or stop the coordinator "
            "and begin with a backup"};
  }
  return base::Ok{};
}

}  // namespace trainctl::store
