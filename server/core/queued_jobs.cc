#include "server/core/queued_jobs.h"

#include <algorithm>
#include <utility>

namespace trainctl::core {

QueuedJobs FindQueued(const State& state, size_t most) {
  std::vector<std::pair<bool, Place>> places;
  QueuedJobs queued;
  for (const auto& [id, job] : state.jobs) {
    if (state.live.contains(id)) continue;
    const bool has_turn = job.lane == Lane::kQueue || job.lane == Lane::kUninspected;
    places.emplace_back(!has_turn, job.place());
    ++queued.jobs;
    queued.devices += job.row.spec.devices;
  }
  const auto end = places.begin() + static_cast<ptrdiff_t>(std::min(most, places.size()));
  std::partial_sort(places.begin(), end, places.end());
  for (auto place = places.begin(); place != end; ++place)
    queued.first.push_back(place->second.job);
  return queued;
}

}  // namespace trainctl::core
