#include "worker/agent/launch_ability.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/base/file.h"
#include "common/base/size.h"
#include "worker/agent/worker_folder.h"

namespace trainctl::agent {
namespace {

constexpr size_t kTrialBytes = 64 << 10;

std::string WhyNoRoom(const std::string& directory) {
  struct statvfs disk = {};
  if (::statvfs(directory.c_str(), &disk) != 0)
    return "cannot use " + directory + ": " + std::strerror(errno);
  const auto free_bytes = static_cast<int64_t>(disk.f_bavail * disk.f_frsize);
  if (free_bytes < LaunchAbility::kLeastBytes)
    return "the disk of " + directory + " is full: " + base::FormatBytes(free_bytes) + " free";
  const bool counts_inodes = disk.f_files > 0;
  if (counts_inodes && static_cast<int64_t>(disk.f_favail) < LaunchAbility::kLeastInodes)
    return "the disk of " + directory + " has no inodes left";
  if (::access(directory.c_str(), W_OK | X_OK) != 0)
    return "cannot write " + directory + ": " + std::strerror(errno);
  return "";
}

std::string WhyNoFile(const std::string& directory) {
  const std::string path = directory + "/write_trial";
  const base::Status written = base::WriteFileAtomically(path, std::string(kTrialBytes, 'x'));
  ::unlink(path.c_str());
  return written ? "" : written.error().message;
}

}  // namespace

void LaunchAbility::Failed(const std::string& why) {
  why_ = why;
  rest_until_ = clock_.Steady() + (rest_ << std::min(failures_, kMostDoublings));
  ++failures_;
}

void LaunchAbility::Succeeded() {
  why_.clear();
  failures_ = 0;
}

std::string LaunchAbility::WhyNot() {
  if (const base::Status kept = KeepRanksFolder(directory_); !kept) return kept.error().message;
  const std::string folder = directory_ + "/ranks";
  if (std::string why = WhyNoRoom(folder); !why.empty()) return why;
  if (why_.empty()) return "";
  if (clock_.Steady() < rest_until_) return "the last rank could not be started: " + why_;
  if (std::string why = WhyNoFile(folder); !why.empty()) return why;
  why_.clear();
  return "";
}

}  // namespace trainctl::agent
