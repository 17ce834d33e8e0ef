#include "common/base/site_folder.h"

#include <array>
#include <filesystem>
#include <optional>
#include <utility>

namespace trainctl::base {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepestWithin = 2;  // of a lock file; 0: it lies in the folder itself
constexpr int kMostEntries = 4096;
constexpr std::array<std::pair<const char*, const char*>, 2> kLocks = {
    {{kCoordinatorLock, "the coordinator's"}, {kWorkerLock, "a worker's"}}};

// Whose folder the lock file tells of; nullptr: it is none.
const char* OwnerOf(const fs::path& lock) {
  for (const auto& [name, owner] : kLocks) {
    if (lock.filename() == name) return owner;
  }
  return nullptr;
}

std::optional<fs::path> FindLockAround(fs::path folder) {
  for (std::error_code error;; folder = folder.parent_path()) {
    for (const auto& [name, owner] : kLocks) {
      if (fs::exists(folder / name, error)) return folder / name;
    }
    if (!folder.has_relative_path()) return std::nullopt;
  }
}

std::optional<fs::path> FindLockWithin(const fs::path& folder) {
  std::error_code error;
  int entries = 0;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    if (++entries > kMostEntries) break;
    if (at.depth() == kDeepestWithin) at.disable_recursion_pending();
    if (OwnerOf(at->path()) != nullptr) return at->path();
  }
  return std::nullopt;
}

Error Refused(const fs::path& path, const std::string& where, const fs::path& lock) {
  const std::string folder = lock.parent_path().string();
  return {Code::kDenied, path.string() + where + (path == folder ? "" : folder + ", ") +
                             OwnerOf(lock) + " own folder: name another one"};
}

}  // namespace

Status CheckNoSiteFolder(const std::string& path) {
  std::error_code error;
  const fs::path truth = fs::weakly_canonical(path, error);
  if (error) return Ok{};  // nothing can be written there
  if (const auto lock = FindLockAround(truth))
    return Refused(truth, truth == lock->parent_path() ? " is " : " lies within ", *lock);
  if (const auto lock = FindLockWithin(truth)) return Refused(truth, " holds ", *lock);
  return Ok{};
}

}  // namespace trainctl::base
