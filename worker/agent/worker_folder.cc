#include "worker/agent/worker_folder.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "common/base/error_number.h"
#include "common/base/file.h"
#include "common/base/site_folder.h"

namespace trainctl::agent {
namespace {

struct Lock {
  base::Descriptor file;
  bool is_new = false;
};

base::Result<Lock> LockDirectory(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory + "/ranks", error);
  if (error)
    return base::Error{base::Code::kIo,
                       "cannot make the worker's directory " + directory + ": " + error.message()};
  const std::string path = directory + "/" + base::kWorkerLock;
  base::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const bool is_new = file.open();
  if (!is_new) file = base::Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.open()) return base::OsError("cannot open " + path, errno);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return Lock{std::move(file), is_new};
  if (errno == EWOULDBLOCK)
    return base::Error{base::Code::kConflict, "another trainworker uses " + directory};
  return base::OsError("cannot lock " + path, errno);
}

int64_t InodeOf(const base::Descriptor& file) {
  struct stat status = {};
  return ::fstat(file.get(), &status) == 0 ? static_cast<int64_t>(status.st_ino) : 0;
}

struct Identity {
  std::string name;
  int64_t lock_inode = 0;
};

// Of either file; nullopt: there is none yet, or none that can be read.
std::optional<Identity> ReadIdentity(const std::string& path) {
  const base::Result<std::string> text = base::ReadFile(path, 4096);
  if (!text) return std::nullopt;
  const nlohmann::json json = nlohmann::json::parse(*text, nullptr, false);
  const bool is_one = json.is_object() && json.contains("identity") &&
                      json["identity"].is_string() && json.contains("lock_inode") &&
                      json["lock_inode"].is_number_integer();
  if (!is_one) return std::nullopt;
  return Identity{json["identity"].get<std::string>(), json["lock_inode"].get<int64_t>()};
}

std::string RecordPath(const std::string& directory) { return directory + "/worker.json"; }

void KeepInLock(const std::string& path, const base::Descriptor& lock, const std::string& record) {
  const base::Result<std::string> text = base::ReadFile(path, 4096);
  if (text && *text == record) return;
  const auto size = static_cast<ssize_t>(record.size());
  const bool is_kept = ::ftruncate(lock.get(), 0) == 0 &&
                       ::pwrite(lock.get(), record.data(), record.size(), 0) == size &&
                       ::fsync(lock.get()) == 0;
  if (!is_kept) spdlog::warn("this worker's identity has no second copy: {}", std::strerror(errno));
}

void KeepIdentity(const std::string& directory, const base::Descriptor& lock,
                  const Identity& identity, bool has_record) {
  const nlohmann::json json = {{"identity", identity.name}, {"lock_inode", identity.lock_inode}};
  const std::string record = json.dump() + "\n";
  KeepInLock(directory + "/" + base::kWorkerLock, lock, record);
  if (has_record) return;
  if (const base::Status written = base::WriteFileAtomically(RecordPath(directory), record);
      !written)
    spdlog::warn("this worker's identity lasts until its end only: {}", written.error().message);
}

bool HoldsRanks(const std::string& directory) {
  std::error_code error;
  return !std::filesystem::is_empty(directory + "/ranks", error) && !error;
}

}  // namespace

base::Result<WorkerFolder> TakeFolder(const std::string& directory, const std::string& fresh) {
  base::Result<Lock> lock = LockDirectory(directory);
  if (!lock) return lock.error();
  const std::string lock_path = directory + "/" + base::kWorkerLock;
  const std::string files = RecordPath(directory) + " and " + lock_path;
  const int64_t inode = InodeOf(lock->file);
  std::optional<Identity> known = ReadIdentity(RecordPath(directory));
  const bool has_record = known.has_value();
  if (!known) known = ReadIdentity(lock_path);
  if (known && known->lock_inode != inode) {
    return base::Error{base::Code::kConflict,
                       directory +
                           " is a copy of another worker's folder: give this worker one of "
                           "its own (--dir); if it was moved, remove " +
                           files};
  }
  if (!known && !lock->is_new && HoldsRanks(directory)) {
    return base::Error{base::Code::kConflict,
                       files + " are damaged: which worker's ranks are in " + directory +
                           "/ranks is not known; where none of them runs any more, remove both "
                           "files"};
  }
  if (!known) known = Identity{fresh, inode};
  KeepIdentity(directory, lock->file, *known, has_record);
  return WorkerFolder{std::move(lock->file), known->name};
}

base::Status KeepRanksFolder(const std::string& directory) {
  namespace fs = std::filesystem;
  const std::string ranks = directory + "/ranks";
  std::error_code error;
  if (fs::create_directory(ranks, error))
    fs::permissions(ranks, fs::status(directory, error).permissions(), error);
  if (!error) return base::Ok{};
  return base::Error{base::Code::kIo, "cannot make " + ranks + ": " + error.message()};
}

base::Status OpenWayToRanks(const std::string& directory) {
  for (const std::string& folder : {directory, directory + "/ranks"}) {
    if (::chmod(folder.c_str(), 0711) != 0)
      return base::OsError("cannot let jobs' owners pass through " + folder, errno);
  }
  return base::Ok{};
}

std::string WhyUnwritable(const std::string& directory, int error) {
  switch (error) {
    case ENOSPC: return "no space left on " + directory;
    case EDQUOT: return "the disk quota is used up on " + directory;
    default: return "cannot write " + directory + ": " + std::strerror(error);
  }
}

}  // namespace trainctl::agent
