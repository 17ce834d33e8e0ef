#include "client/new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "common/base/error_number.h"
#include "common/base/file.h"
#include "common/base/random_name.h"

namespace trainctl::client {
namespace {

namespace fs = std::filesystem;

base::Error IsThere(const std::string& file) {
  return {base::Code::kConflict, file + " is there already: --overwrite replaces it"};
}

fs::path FolderOf(const std::string& file) {
  std::error_code error;
  return fs::absolute(file, error).lexically_normal().parent_path();
}

// 0, or the errno.
int RenameUnlessThere(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // A file system without the flag, such as NFS: a second name is never one that is there.
  if (link(from.c_str(), to.c_str()) != 0) return errno;
  unlink(from.c_str());
  return 0;
}

}  // namespace

base::Status CheckNewFile(const std::string& file, bool overwrite) {
  std::error_code error;
  if (!overwrite && fs::exists(file, error)) return IsThere(file);
  const fs::path folder = FolderOf(file);
  if (fs::is_directory(folder, error)) return base::Ok{};
  return base::Error{base::Code::kNotFound, "cannot write " + file + ": there is no folder " +
                                                folder.string() + "; make it: mkdir -p " +
                                                folder.string()};
}

base::Status WriteNewFile(const std::string& file, std::string_view content, bool overwrite) {
  if (const base::Status usable = CheckNewFile(file, overwrite); !usable.ok()) return usable;
  if (overwrite) return base::WriteFileAtomically(file, content);
  const std::string made = (FolderOf(file) / ("." + base::RandomName() + ".new")).string();
  if (const base::Status written = base::WriteFileAtomically(made, content); !written.ok())
    return written;
  const base::Status placed = TakeName(made, file, overwrite);
  if (!placed.ok()) {
    unlink(made.c_str());
    return placed;
  }
  return base::SyncFolder(FolderOf(file).string());
}

base::Status TakeName(const std::string& made, const std::string& file, bool overwrite) {
  if (overwrite) {
    return rename(made.c_str(), file.c_str()) == 0 ? base::Status(base::Ok{})
                                                   : base::OsError(file, errno);
  }
  const int error = RenameUnlessThere(made, file);
  if (error == EEXIST) return IsThere(file);
  return error == 0 ? base::Status(base::Ok{}) : base::OsError(file, error);
}

}  // namespace trainctl::client
