#include "server/store/writer_lock.h"

#include <fcntl.h>

#include <cerrno>

#include "common/base/error_number.h"

namespace trainctl::store {
namespace {

// Behind any database of SQLite, and all that it locks itself.
constexpr off_t kLockedByte = off_t{1} << 50;

}  // namespace

base::Error CannotWrite(const std::string& path, int error) {
  base::Error said = base::OsError(path, error);
  if (error == EACCES || error == EPERM || error == EROFS) said.message += kMakeWritable;
  return said;
}

// The lock is the open file description's (F_OFD_SETLK). SQLite's own are the process's, of other
// bytes: neither meets the other. flock(2) would on file systems that make it a lock of all bytes.
// But closing any descriptor of a file drops all locks that the process has on it, SQLite's too.
// So this one is never closed under a connection.
base::Result<base::Descriptor> LockForWriting(const std::string& path) {
  // SQLite would make it readable for everyone; its log and index files are made alike.
  base::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.open()) return CannotWrite(path, errno);
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kLockedByte;
  lock.l_len = 1;
  if (::fcntl(file.get(), F_OFD_SETLK, &lock) == 0) return file;
  if (errno != EAGAIN && errno != EACCES) return base::OsError(path, errno);
  return base::Error{base::Code::kConflict,
                     path +
                         ": another coordinator writes to this database: stop it first, or name "
                         "another folder"};
}

}  // namespace trainctl::store
