#include "server/core/state.h"

#include <algorithm>

namespace trainctl::core {

const Job* FindJob(const State& state, base::JobId job) {
  const auto found = state.jobs.find(job);
  return found == state.jobs.end() ? nullptr : &found->second;
}

std::string_view WorkerState(const Worker& worker) {
  if (!worker.connected && worker.lost) return "LOST";
  if (worker.holder) return "BUSY";
  if (!worker.connected) return "LOST";
  return worker.word == DeviceWord::kFree && worker.strays.empty() ? "READY" : "DIRTY";
}

job::SiteDevice SiteDeviceOf(const WorkerRow& worker) {
  const job::Device& device = worker.device;
  return {std::string(job::Name(device.kind)), worker.host, device.name, device.memory_bytes,
          device.compute_capability};
}

std::vector<job::SiteDevice> Site(const State& state) {
  std::vector<job::SiteDevice> devices;
  for (const auto& [name, worker] : state.workers) devices.push_back(SiteDeviceOf(worker.row));
  return devices;
}

JobProgress Progress(const Job& job) {
  if (!job.attempt) return job.status.progress;
  const std::vector<Rank>& ranks = job.attempt->ranks;
  JobProgress progress;
  progress.step = ranks.front().row.progress.step;
  for (const Rank& rank : ranks) {
    progress.step = std::min(progress.step, rank.row.progress.step);
    progress.steps = std::max(progress.steps, rank.row.progress.steps);
    progress.peak_allocated_bytes =
        std::max(progress.peak_allocated_bytes, rank.row.progress.peak_allocated_bytes);
  }
  progress.loss = ranks.front().row.progress.loss;
  progress.tokens_per_second = ranks.front().row.progress.tokens_per_second;
  return progress;
}

}  // namespace trainctl::core
