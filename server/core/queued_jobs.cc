#include "server/core/queued_jobs.h"

#include <algorithm>
#include <iterator>
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

std::vector<const Job*> FirstInTurn(const State& state, size_t most) {
  std::vector<std::pair<Place, const Job*>> jobs;
  for (const auto& [demand, lane] : state.queue.lanes()) {
    size_t count = 0;
    for (const auto& [place, waiting] : lane.jobs) {
      if (count++ == most) break;
      jobs.emplace_back(lane.Whole(place), waiting.job);
    }
  }
  const auto end = jobs.begin() + static_cast<std::ptrdiff_t>(std::min(most, jobs.size()));
  std::partial_sort(jobs.begin(), end, jobs.end());
  std::vector<const Job*> first;
  std::transform(jobs.begin(), end, std::back_inserter(first),
                 [](const auto& entry) { return entry.second; });
  return first;
}

}  // namespace trainctl::core
