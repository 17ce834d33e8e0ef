#include "worker/agent/foreign_processes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "worker/shim/process_table.h"

namespace trainctl::agent {
namespace {

// Linux gives the first namespace of pids this number (PROC_PID_INIT_INO).
constexpr ino_t kFirstPidNamespace = 0xEFFFFFFC;

// The driver may list a process a moment longer than it lives.
bool HasEnded(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

std::optional<uid_t> UserOf(pid_t pid) {
  struct stat folder = {};
  if (::stat(("/proc/" + std::to_string(pid)).c_str(), &folder) != 0) return std::nullopt;
  return folder.st_uid;
}

}  // namespace

bool SeesPidsOfTheHost() {
  struct stat space = {};
  return ::stat("/proc/self/ns/pid", &space) == 0 && space.st_ino == kFirstPidNamespace;
}

// One name is asked for at a time; while its answer is overdue nobody waits.
class ForeignProcesses::Names : public std::enable_shared_from_this<Names> {
 public:
  Names(NameOfUser name_of, std::chrono::milliseconds patience)
      : name_of_(std::move(name_of)), patience_(patience) {}

  std::string Of(uid_t user) {
    std::unique_lock lock(mutex_);
    if (!known_.contains(user) && !std::exchange(asks_, true)) {
      std::thread([self = shared_from_this(), user] { self->Ask(user); }).detach();
      answered_.wait_for(lock, patience_, [this] { return !asks_; });
    }
    const auto known = known_.find(user);
    return known != known_.end() ? known->second : "uid:" + std::to_string(user);
  }

 private:
  void Ask(uid_t user) {
    std::string name = name_of_(user);
    const std::lock_guard lock(mutex_);
    known_[user] = std::move(name);
    asks_ = false;
    answered_.notify_all();
  }

  const NameOfUser name_of_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;  // of what follows
  std::condition_variable answered_;
  std::map<uid_t, std::string> known_;
  bool asks_ = false;
};

ForeignProcesses::ForeignProcesses(bool sees_pids_of_the_host, NameOfUser name_of,
                                   std::chrono::milliseconds patience)
    : sees_pids_(sees_pids_of_the_host),
      names_(std::make_shared<Names>(std::move(name_of), patience)) {}

std::vector<job::ForeignProcess> ForeignProcesses::Among(const std::vector<GpuProcess>& processes,
                                                         const OwnProcesses& own) {
  const auto is_own = [&own](const GpuProcess& process) {
    return std::ranges::find(own.pids, process.pid) != own.pids.end();
  };
  const bool believed = sees_pids_ || std::ranges::any_of(processes, is_own);
  std::vector<job::ForeignProcess> foreign;
  if (own.rank_runs && (!believed || own.pids.empty())) return foreign;
  for (const GpuProcess& process : processes) {
    const auto pid = static_cast<pid_t>(process.pid);
    if (is_own(process) || (believed && HasEnded(pid))) continue;
    job::ForeignProcess& found = foreign.emplace_back();
    found.pid = process.pid;
    found.memory_bytes = process.memory_bytes;
    if (!believed) continue;
    if (const std::optional<uid_t> user = UserOf(pid)) found.user = names_->Of(*user);
    if (const auto stat = shim::ReadStat(pid)) found.program = stat->name;
  }
  std::ranges::stable_sort(foreign, std::greater(), &job::ForeignProcess::memory_bytes);
  foreign.resize(std::min(foreign.size(), job::kMaxForeignProcesses));
  return foreign;
}

}  // namespace trainctl::agent
