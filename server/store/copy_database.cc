#include "server/store/copy_database.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "common/base/error_number.h"
#include "common/base/file.h"

namespace trainctl::store {
namespace {

// Closed to others from its first byte on; SQLite would make it readable for everyone.
base::Status MakeEmpty(const std::string& path) {
  struct stat old;
  if (lstat(path.c_str(), &old) == 0 && S_ISREG(old.st_mode)) unlink(path.c_str());
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return base::OsError(path, errno);
  close(descriptor);
  return base::Ok{};
}

base::Status SyncFile(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return base::OsError(path, errno);
  const base::Status synced =
      fsync(descriptor) == 0 ? base::Status(base::Ok{}) : base::Status(base::OsError(path, errno));
  close(descriptor);
  return synced;
}

}  // namespace

base::Status CopyDatabase(Database& from, const std::string& to) {
  if (base::Status made = MakeEmpty(to); !made) return made;
  {
    Statement statement(from, "VACUUM INTO ?");
    statement.Put(std::string_view(to));
    statement.Run();
  }
  base::Status written = from.TakeStatus();
  if (!written && written.error().code == base::Code::kExhausted) {  // what is read needs no room
    written = base::Error{base::Code::kExhausted, "no copy was written to " + to +
                                                      ": its disk is full: free some space there"};
  } else if (!written) {
    written = base::Error{written.error().code,
                          "no copy was written to " + to + ": " + written.error().message};
  } else {
    written = SyncFile(to);
  }
  if (!written) unlink(to.c_str());
  return written;
}

base::Status RenameNew(const std::string& from, const std::string& to) {
  // Not every file system knows the flag; there nobody else makes files of this name either.
  int result = renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  if (result != 0 && errno == EINVAL && access(to.c_str(), F_OK) != 0)
    result = rename(from.c_str(), to.c_str());
  if (result != 0 && errno == EEXIST)
    return base::Error{base::Code::kConflict, to + " is there already: name a new file"};
  if (result != 0) return base::OsError(to, errno);
  return base::SyncFolder(std::filesystem::path(to).parent_path().string());
}

}  // namespace trainctl::store
