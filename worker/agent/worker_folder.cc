#include "worker/agent/worker_folder.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/stat.h>

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

base::Result<base::Descriptor> LockDirectory(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory + "/ranks", error);
  if (error)
    return base::Error{base::Code::kIo,
                       "cannot make the worker's directory " + directory + ": " + error.message()};
  const std::string path = directory + "/" + base::kWorkerLock;
  base::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.open()) return base::OsError("cannot open " + path, errno);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
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

// nullopt: there is none yet, or none that can be read.
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

}  // namespace

base::Result<WorkerFolder> TakeFolder(const std::string& directory, const std::string& fresh) {
  base::Result<base::Descriptor> lock = LockDirectory(directory);
  if (!lock) return lock.error();
  const std::string path = directory + "/worker.json";
  const int64_t inode = InodeOf(*lock);
  if (const std::optional<Identity> known = ReadIdentity(path)) {
    if (known->lock_inode == inode) return WorkerFolder{std::move(*lock), known->name};
    return base::Error{base::Code::kConflict,
                       directory +
                           " is a copy of another worker's folder: give this worker one of "
                           "its own (--dir); if it was moved, remove " +
                           path};
  }
  const nlohmann::json json = {{"identity", fresh}, {"lock_inode", inode}};
  if (const base::Status written = base::WriteFileAtomically(path, json.dump() + "\n"); !written)
    spdlog::warn("this worker's identity lasts until its end only: {}", written.error().message);
  return WorkerFolder{std::move(*lock), fresh};
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
