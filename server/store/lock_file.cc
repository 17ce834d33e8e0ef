#include "server/store/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/base/error_number.h"
#include "common/base/site_folder.h"
#include "server/store/writer_lock.h"

namespace trainctl::store {
namespace {

std::string ReadOwner(int descriptor) {
  char text[32] = {};
  const ssize_t size = pread(descriptor, text, sizeof text - 1, 0);
  std::string owner(text, size > 0 ? size : 0);
  while (!owner.empty() && owner.back() == '\n') owner.pop_back();
  return owner.empty() ? "unknown" : owner;
}

bool WriteOwner(int descriptor) {
  const std::string owner = std::to_string(getpid()) + "\n";
  return ftruncate(descriptor, 0) == 0 &&
         pwrite(descriptor, owner.data(), owner.size(), 0) == static_cast<ssize_t>(owner.size());
}

}  // namespace

std::string LockPath(const std::string& directory) {
  return directory + "/" + base::kCoordinatorLock;
}

base::Result<std::unique_ptr<LockFile>> LockFile::Take(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return CannotWrite(path, errno);
  std::unique_ptr<LockFile> lock(new LockFile(descriptor));
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return base::OsError(path, errno);
    return base::Error{base::Code::kConflict,
                       path + ": another coordinator (pid " + ReadOwner(descriptor) +
                           ") has this folder: stop it first, or name another folder"};
  }
  if (!WriteOwner(descriptor)) return base::OsError(path, errno);
  return lock;
}

LockFile::~LockFile() { close(descriptor_); }

}  // namespace trainctl::store
