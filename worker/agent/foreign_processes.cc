#include "worker/agent/foreign_processes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>

#include "common/peer/socket_owner.h"
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
    if (const std::optional<uid_t> user = UserOf(pid)) found.user = NameOf(*user);
    if (const auto stat = shim::ReadStat(pid)) found.program = stat->name;
  }
  std::ranges::stable_sort(foreign, std::greater(), &job::ForeignProcess::memory_bytes);
  foreign.resize(std::min(foreign.size(), job::kMaxForeignProcesses));
  return foreign;
}

const std::string& ForeignProcesses::NameOf(uid_t user) {
  const auto known = names_.find(user);
  return known != names_.end() ? known->second : names_[user] = peer::UserName(user);
}

}  // namespace trainctl::agent
