#include "server/core/ahead.h"

#include <algorithm>
#include <iterator>

#include "server/core/choice.h"
#include "server/core/forecast.h"
#include "server/core/held.h"
#include "server/core/leases.h"
#include "server/core/linked_gangs.h"
#include "server/core/loan.h"
#include "server/core/reach.h"
#include "server/core/run_length.h"
#include "server/core/waiting.h"
#include "server/core/walk.h"

namespace trainctl::core {

using placement::ClassId;

int64_t DeniedByQuota(const Job& job, const State& state, const Ahead& ahead, const Now& now) {
  if (job.demand.user.empty()) return 0;
  const std::vector<placement::DeviceId> devices = ChooseDevices(state, ahead.holds, job, now);
  if (devices.empty()) return 0;
  const ClassId id = state.free.entry(devices.front()).device_class;
  const Place place = job.place();
  const int64_t held = HeldWith(state, job, devices);
  const auto room = ahead.quotas.RoomWith(job, held, &place);
  const auto length = LongestRunOn(state.options, job, state.free.pools()[id].device_class);
  return FitsIn(room, length) ? 0 : held;
}

Ahead LookAhead(const State& state, const Job& job, const Now& now) {
  Ahead ahead{Holds(state, now), Quotas(state, now)};
  const std::vector<ClassId> wanted = WantedClasses(state, job);
  Walk walk(state.queue);
  while (const std::optional<Walk::Stop> stop = walk.Next()) {
    const auto& [place, head] = *stop->head;
    if (!(place < job.place())) break;
    if (ahead.quotas.RoomFor(*head.lane, place) != kAnyTime) {
      const auto next = std::next(stop->head);
      if (next != stop->kind->heads.end()) walk.StopAt(*stop->kind, next);
      continue;
    }
    const Job& other = *head.job;
    ahead.holds.Add(other);  // all that any of its kind would hold
    const bool competes =
        std::ranges::any_of(wanted, [&](ClassId id) { return ahead.holds.Hinder(id, job); });
    if (!competes) continue;
    ahead.blocker = &other;
    break;
  }
  return ahead;
}

int64_t MinutesThatPass(const State& state, const Job& job, const Ahead& ahead, const Now& now) {
  if (job.row.spec.exclusive || LinksOf(job)) return 0;
  int64_t gap = 0;
  for (const ClassId id : UsableClasses(state, job)) {
    if (FreeOf(state, job, id) < job.row.spec.devices) continue;
    const int64_t room = RoomBeforeLeases(state, id, job, now);
    gap = std::max(gap,
                   std::min(room, ahead.blocker == nullptr ? kAnyTime : ahead.holds.Gap(id, job)));
  }
  if (gap == kAnyTime) return 0;
  return MinutesWithin(state.options, gap);
}

std::optional<base::SteadyMicros> PredictedStart(const State& state, const Job& job,
                                                 const Now& now) {
  if (IsClosing(state, now)) return std::nullopt;
  if (job.lane == Lane::kLeased) {
    const Lease* lease = FindLease(state, job.lease);
    if (lease == nullptr || lease->closing) return std::nullopt;
    return now.steady + std::max<int64_t>(0, lease->row.start - now.wall);
  }
  if (job.lane != Lane::kQueue) return std::nullopt;
  Ahead ahead = LookAhead(state, job, now);
  const std::optional<base::SteadyMicros> by_quota = ahead.quotas.StartOf(job);
  const bool may_be_denied = job.row.spec.exclusive || ahead.quotas.Yields(job);
  if (may_be_denied && DeniedByQuota(job, state, ahead, now) > 0) return std::nullopt;
  if (const auto start = ForeseenStart(state, job, now)) return start;
  if (ahead.blocker != nullptr || !by_quota) return std::nullopt;
  const std::vector<ClassId> usable = UsableClasses(state, job);
  const bool is_kept_from =
      std::ranges::any_of(usable, [&](ClassId id) { return ahead.holds.KeptFrom(id, job) > 0; });
  if (is_kept_from) return std::nullopt;  // it may need those too
  ahead.holds.Add(job);
  for (const ClassId id : usable) {
    const Hold* hold = ahead.holds.Find(id, job.row.id);
    if (hold == nullptr) continue;
    return hold->start ? std::optional(std::max(*hold->start, *by_quota)) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace trainctl::core
