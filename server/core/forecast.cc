#include "server/core/forecast.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "server/core/holds.h"
#include "server/core/leases.h"
#include "server/core/linked_gangs.h"
#include "server/core/queued_jobs.h"
#include "server/core/reach.h"
#include "server/core/run_length.h"
#include "server/core/waiting.h"

namespace trainctl::core {
namespace {

using base::SteadyMicros;
using placement::ClassId;
using placement::DeviceId;

constexpr SteadyMicros kNever = std::numeric_limits<SteadyMicros>::max();
constexpr int64_t kStands = 1'000'000;  // an answer, while nothing happens

class Forecast {
 public:
  Forecast(const State& state, const Now& now) : state_(state), now_(now) {}

  // In the queue's order.
  std::optional<SteadyMicros> Place(const Job& job) {
    const bool is_left_out = job.row.spec.exclusive || LinksOf(job) || !job.demand.user.empty();
    const std::optional<Choice> first = is_left_out ? std::nullopt : First(job);
    if (!first) {
      for (const ClassId id : WantedClasses(state_, job)) held_.insert(id);
      return std::nullopt;
    }
    const std::optional<int64_t> length =
        LongestRunOn(state_.options, job, state_.free.pools()[first->device_class].device_class);
    for (const DeviceId device : first->devices)
      free_from_[device] = length ? first->at + *length : kNever;
    return first->at;
  }

 private:
  struct Choice {
    SteadyMicros at = 0;
    ClassId device_class = 0;
    std::vector<DeviceId> devices;
  };

  std::optional<Choice> First(const Job& job) const {
    std::optional<Choice> first;
    const auto wanted = static_cast<size_t>(job.row.spec.devices);
    for (const ClassId id : UsableClasses(state_, job)) {
      if (held_.contains(id)) continue;
      const auto times = Times(id, job);
      if (times.size() < wanted) continue;
      const SteadyMicros at = times[wanted - 1].first;
      if (first && first->at <= at) continue;
      first = Choice{std::max(at, job.retry.pause_until.value_or(at)), id, {}};
      for (size_t i = 0; i < wanted; ++i) first->devices.push_back(times[i].second);
    }
    return first;
  }

  // When devices of the class are free for the job, as far as is known; in order.
  std::vector<std::pair<SteadyMicros, DeviceId>> Times(ClassId id, const Job& job) const {
    std::vector<std::pair<SteadyMicros, DeviceId>> times;
    const bool has_leases = HasLeases(state_, id);
    for (const Worker* worker : state_.devices) {
      if (worker == nullptr || !Reaches(state_, job, worker->device)) continue;
      std::optional<SteadyMicros> at = FreeFrom(state_, *worker, id, now_);
      if (!at) continue;
      const auto taken = free_from_.find(worker->device);
      if (taken != free_from_.end()) at = taken->second;
      if (*at == kNever) continue;
      at = std::max(*at, now_.steady);
      if (has_leases)
        at = ClearFrom(state_, *worker, *at, LengthAmongLeases(state_, job, id), now_);
      times.emplace_back(*at, worker->device);
    }
    std::ranges::sort(times);
    return times;
  }

  const State& state_;
  const Now& now_;
  std::map<DeviceId, SteadyMicros> free_from_;  // of devices that jobs have taken
  std::set<ClassId> held_;                      // for jobs whose start is not known
};

}  // namespace

std::optional<SteadyMicros> ForeseenStart(const State& state, const Job& job, const Now& now) {
  Foreseen& foreseen = state.foreseen;
  const bool stands = foreseen.steps == state.steps && now.steady >= foreseen.at &&
                      now.steady - foreseen.at < kStands;
  if (!stands) {
    foreseen = {.steps = state.steps, .at = now.steady, .starts = {}};
    Forecast forecast(state, now);
    for (const Job* next : FirstInTurn(state, kForeseen)) {
      if (const auto start = forecast.Place(*next)) foreseen.starts[next->row.id] = *start;
    }
  }
  const auto start = foreseen.starts.find(job.row.id);
  return start == foreseen.starts.end() ? std::nullopt : std::optional(start->second);
}

}  // namespace trainctl::core
