#include "worker/agent/rank_sampler.h"

#include <unistd.h>

#include <utility>
#include <vector>

#include "worker/shim/process_table.h"

namespace trainctl::agent {

std::optional<RankSample> RankSampler::Sample() {
  const std::optional<shim::ProcessStat> rank = shim::ReadStat(pid_);
  if (!rank || rank->ended()) return std::nullopt;
  uint64_t ticks = rank->cpu_ticks;
  int64_t pages = rank->resident_pages;
  std::vector<pid_t> processes = {pid_};
  for (const shim::ProcessStat& process : shim::Descendants(pid_)) {
    ticks += process.cpu_ticks;
    pages += process.resident_pages;
    processes.push_back(process.pid);
  }
  const base::SteadyMicros now = clock_.Steady();
  const base::SteadyMicros passed = now - std::exchange(sampled_at_, now);
  const uint64_t before = std::exchange(cpu_ticks_, ticks);
  RankSample sample{.memory_used_bytes = pages * ::sysconf(_SC_PAGESIZE),
                    .processes = std::move(processes)};
  const bool comparable =
      passed > 0 && passed < now && ticks >= before;  // a helper that ended takes its ticks along
  const double ticks_a_micro = static_cast<double>(::sysconf(_SC_CLK_TCK)) / 1e6;
  if (comparable)
    sample.cpu_percent =
        100.0 * static_cast<double>(ticks - before) / (ticks_a_micro * static_cast<double>(passed));
  return sample;
}

}  // namespace trainctl::agent
