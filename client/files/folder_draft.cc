#include "client/files/folder_draft.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include "common/base/error_number.h"

namespace trainctl::client {
namespace {

namespace fs = std::filesystem;

std::string Absolute(const std::string& folder) {
  std::error_code error;
  std::string path = fs::absolute(folder, error).lexically_normal().string();
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

base::Status CheckPlace(const std::string& folder, const std::string& marker) {
  std::error_code error;
  if (folder == "/" || fs::equivalent(folder, fs::current_path(error), error)) {
    return base::Error{
        base::Code::kInvalid,
        folder + ": name a folder that is not yet there; it can't take the current folder's place"};
  }
  const fs::file_status status = fs::status(folder, error);
  if (!fs::exists(status)) return base::Ok{};
  if (!fs::is_directory(status))
    return base::Error{base::Code::kInvalid,
                       folder + ": there is a file of that name; name a folder"};
  if (fs::is_empty(folder, error)) return base::Ok{};
  if (marker.empty())
    return base::Error{base::Code::kConflict,
                       folder + " is not empty: name another folder, or empty it"};
  if (fs::exists(folder + "/" + marker, error)) return base::Ok{};
  return base::Error{base::Code::kConflict,
                     folder + " is not empty, and holds no " + marker +
                         ", so it was not made by trainctl and is left alone: name another folder"};
}

base::Error Busy(const std::string& path) {
  return {base::Code::kConflict,
          "another trainctl is writing to " + path + " now: try again when it is done"};
}

base::Status OwnFolder(int descriptor, const std::string& path) {
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0)
    return errno == EWOULDBLOCK ? Busy(path) : base::OsError(path, errno);
  struct stat locked{}, named{};
  if (fstat(descriptor, &locked) != 0) return base::OsError(path, errno);
  if (stat(path.c_str(), &named) != 0)
    return errno == ENOENT ? Busy(path) : base::OsError(path, errno);
  if (locked.st_ino != named.st_ino || locked.st_dev != named.st_dev) return Busy(path);
  return base::Ok{};
}

// The lock on a folder lasts as long as the descriptor. One that was renamed away meanwhile is
// another's finished work.
base::Result<int> LockFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) return base::OsError(path, errno);
  const int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return base::OsError(path, errno);
  const base::Status own = OwnFolder(descriptor, path);
  if (own.ok()) return descriptor;
  close(descriptor);
  return own.error();
}

base::Status Clear(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    fs::remove_all(at->path(), error);
  if (error) return base::OsError(folder, error.value());
  return base::Ok{};
}

bool HasEntries(const std::string& folder) {
  std::error_code error;
  return fs::is_directory(folder, error) && !fs::is_empty(folder, error);
}

}  // namespace

base::Result<std::unique_ptr<FolderDraft>> FolderDraft::Begin(const std::string& folder,
                                                              const std::string& marker) {
  const std::string place = Absolute(folder), draft = place + ".partial";
  if (const base::Status free = CheckPlace(place, marker); !free.ok()) return free.error();
  std::error_code error;
  fs::create_directories(fs::path(place).parent_path(), error);
  if (error) return base::OsError(fs::path(place).parent_path().string(), error.value());
  const base::Result<int> lock = LockFolder(draft);
  if (!lock.ok()) return lock.error();
  std::unique_ptr<FolderDraft> begun(new FolderDraft(place, draft, *lock));
  if (const base::Status cleared = Clear(draft); !cleared.ok()) return cleared.error();
  return begun;
}

FolderDraft::~FolderDraft() {
  std::error_code error;
  if (!committed_) fs::remove_all(draft_, error);
  close(lock_);
}

base::Status FolderDraft::AddFolder(const std::string& path) {
  const fs::path folder = fs::path(draft_) / path;
  std::error_code error;
  fs::create_directories(folder, error);
  return error ? base::Status(base::OsError(folder.string(), error.value())) : base::Ok{};
}

base::Status FolderDraft::Append(const std::string& path, std::string_view text) {
  const fs::path file = fs::path(draft_) / path;
  const base::Status folder = AddFolder(fs::path(path).parent_path().string());
  if (!folder.ok()) return folder;
  errno = 0;
  std::ofstream stream(file, std::ios::binary | std::ios::app);
  stream.write(text.data(), static_cast<std::streamsize>(text.size()));
  stream.close();
  if (!stream) return base::OsError(file.string(), errno != 0 ? errno : EIO);
  files_[path] += static_cast<int64_t>(text.size());
  return base::Ok{};
}

base::Status FolderDraft::Commit() {
  if (syncfs(lock_) != 0) return base::OsError(draft_, errno);
  if (const base::Status placed = TakePlace(); !placed.ok()) return placed;
  committed_ = true;
  return base::Ok{};
}

// An earlier folder is exchanged with the new one in one step, and then removed. If a file system
// can't do that, there is an instant at which neither has the name. The earlier one is then whole
// as "<folder>.partial.old".
base::Status FolderDraft::TakePlace() {
  if (!HasEntries(folder_))
    return rename(draft_.c_str(), folder_.c_str()) == 0 ? base::Status(base::Ok{})
                                                        : base::OsError(folder_, errno);
  std::string earlier = draft_;
  if (renameat2(AT_FDCWD, draft_.c_str(), AT_FDCWD, folder_.c_str(), RENAME_EXCHANGE) != 0) {
    earlier = draft_ + ".old";
    if (rename(folder_.c_str(), earlier.c_str()) != 0) return base::OsError(folder_, errno);
    if (rename(draft_.c_str(), folder_.c_str()) != 0) {
      const int error = errno;
      rename(earlier.c_str(), folder_.c_str());
      return base::OsError(folder_, error);
    }
  }
  std::error_code error;
  fs::remove_all(earlier, error);
  return base::Ok{};
}

}  // namespace trainctl::client
