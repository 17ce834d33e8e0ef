#include "server/core/ahead.h"

#include <algorithm>

#include "server/core/waiting.h"

namespace trainctl::core {

using placement::ClassId;

Ahead LookAhead(const State& state, const Job& job, const Now& now) {
  Ahead ahead{Holds(state, now)};
  const std::vector<ClassId> wanted = WantedClasses(state, job);
  for (const auto& [place, demand] : state.queue.heads()) {
    if (!(place < job.place())) break;
    const Job& other = state.jobs.at(place.job);
    ahead.holds.Add(other);
    const bool competes =
        std::ranges::any_of(wanted, [&](ClassId id) { return ahead.holds.Find(id) != nullptr; });
    if (!competes) continue;
    ahead.blocker = &other;
    break;
  }
  return ahead;
}

int64_t MinutesThatPass(const State& state, const Job& job, const Ahead& ahead) {
  if (ahead.blocker == nullptr || job.row.spec.exclusive) return 0;
  int64_t gap = 0;
  for (const ClassId id : UsableClasses(state, job)) {
    if (state.free.pools()[id].free >= job.row.spec.devices)
      gap = std::max(gap, ahead.holds.Gap(id));
  }
  return std::max<int64_t>(0, (gap - state.options.stop_grace_us) / 60'000'000);
}

std::optional<base::SteadyMicros> PredictedStart(const State& state, const Job& job,
                                                 const Now& now) {
  if (job.lane != Lane::kQueue) return std::nullopt;
  Ahead ahead = LookAhead(state, job, now);
  if (ahead.blocker != nullptr) return std::nullopt;
  ahead.holds.Add(job);
  for (const ClassId id : UsableClasses(state, job)) {
    const Hold* hold = ahead.holds.Find(id);
    if (hold != nullptr && hold->job == job.row.id) return hold->start;
  }
  return std::nullopt;
}

}  // namespace trainctl::core
