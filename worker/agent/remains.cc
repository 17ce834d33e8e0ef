#include "worker/agent/remains.h"

#include <signal.h>

#include <algorithm>

#include "common/base/boot_id.h"
#include "worker/shim/cgroup_leaf.h"
#include "worker/shim/process_table.h"

namespace trainctl::agent {
namespace {

// Whether the shim's session can still be told by its number. Once a session's leader and members
// have all ended, the number may name another session. That session's leader then has it as its own
// id.
bool IsSessionOurs(const std::vector<shim::ProcessStat>& processes, const shim::PidRecord& rank) {
  if (rank.session == 0) return false;
  return std::ranges::none_of(processes, [&](const shim::ProcessStat& process) {
    return process.pid == rank.session && !process.ended();
  });
}

}  // namespace

std::vector<pid_t> EndRemains(const shim::PidRecord& rank) {
  if (rank.boot_id != base::BootId()) return {};
  if (!rank.cgroup.empty()) shim::CgroupLeaf(rank.cgroup).Kill();
  std::vector<pid_t> left;
  const std::vector<shim::ProcessStat> processes = shim::ListProcesses();
  const bool session_is_ours = IsSessionOurs(processes, rank);
  for (const shim::ProcessStat& process : processes) {
    const bool is_rank = process.pid == rank.pid && process.start_time == rank.start_time;
    const bool is_of_session =
        session_is_ours && process.session == rank.session && process.start_time >= rank.start_time;
    if (process.ended() || !(is_rank || is_of_session)) continue;
    shim::Signal(process, SIGKILL);
    left.push_back(process.pid);
  }
  if (left.empty() && !rank.cgroup.empty()) {
    const shim::CgroupLeaf leaf(rank.cgroup);
    if (leaf.Populated()) return {rank.pid};  // one that made a session of its own, about to end
    leaf.Remove();
  }
  return left;
}

}  // namespace trainctl::agent
