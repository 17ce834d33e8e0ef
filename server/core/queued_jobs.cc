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

std::vector<const Job*> FirstInTurn(const State& state, size_t most) {
  using Entry = std::pair<Place, const Queue::Lane*>;
  const auto keep_first = [most](auto& entries) {
    const size_t kept = std::min(most, entries.size());
    std::partial_sort(entries.begin(), entries.begin() + static_cast<ptrdiff_t>(kept),
                      entries.end());
    entries.resize(kept);
  };
  // A job is among the first of all only if the first of its lane is.
  std::vector<Entry> lanes;
  for (const auto& [demand, lane] : state.queue.lanes())
    lanes.emplace_back(lane.Whole(lane.jobs.begin()->first), &lane);
  keep_first(lanes);
  std::vector<std::pair<Place, const Job*>> jobs;
  for (const auto& [head, lane] : lanes) {
    size_t count = 0;
    for (const auto& [place, waiting] : lane->jobs) {
      if (count++ == most) break;
      jobs.emplace_back(lane->Whole(place), waiting.job);
    }
  }
  keep_first(jobs);
  std::vector<const Job*> first;
  for (const auto& [place, job] : jobs) first.push_back(job);
  return first;
}

}  // namespace trainctl::core
