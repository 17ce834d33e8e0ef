#include "server/core/forecast.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/core/held.h"
#include "server/core/holds.h"
#include "server/core/leases.h"
#include "server/core/linked_gangs.h"
#include "server/core/queued_jobs.h"
#include "server/core/quota.h"
#include "server/core/quota_timeline.h"
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
  void Place(const Job& job) {
    std::optional<Choice> first = FirstOf(job);
    // Those before it whose quota has room by then go first.
    for (auto next = ReadyBy(first); next != deferred_.end(); next = ReadyBy(first)) {
      PlaceDeferred(next);
      first = FirstOf(job);
    }
    held_up_[job.row.id] = job.row.id;
    if (first) return Take(job, *first);
    const base::JobId before = HeldUpBy(job);
    held_up_[job.row.id] = before;
    for (const ClassId id : WantedClasses(state_, job)) held_.try_emplace(id, before);
    KeepForEver(job);
  }

  // After all: those that nobody waits behind.
  void Finish(Foreseen* foreseen) {
    while (!deferred_.empty()) {
      PlaceDeferred(std::ranges::min_element(deferred_, {},
                                             [](const auto& entry) { return entry.second.ready; }));
    }
    foreseen->starts = std::move(starts_);
    foreseen->held_up = std::move(held_up_);
    std::erase_if(foreseen->held_up,
                  [&](const auto& entry) { return foreseen->starts.contains(entry.first); });
  }

 private:
  struct Choice {
    SteadyMicros at = 0;
    ClassId device_class = 0;
    std::vector<DeviceId> devices;
    std::optional<int64_t> length;
  };
  // A job whose quota has no room when devices are free: until it has, jobs of others go past.
  struct Deferred {
    const Job* job;
    SteadyMicros ready;             // the quota has room
    std::optional<int64_t> length;  // for so long, which is taken of it
  };

  std::optional<Choice> FirstOf(const Job& job) const {
    if (job.row.spec.exclusive || LinksOf(job)) return std::nullopt;
    return First(job, now_.steady);
  }

  void Take(const Job& job, const Choice& first) {
    if (QuotaTimeline* quota = QuotaOf(job)) {
      const int64_t devices = job.row.spec.devices;
      const auto ready = quota->RoomFrom(devices, first.at, first.length);
      if (!ready) return KeepForEver(job);  // whoever else is behind does not wait for it
      quota->Take(devices, *ready, first.length);
      if (*ready > first.at) {
        deferred_.insert({job.place(), {&job, *ready, first.length}});
        return;
      }
      // What the first of its owner's jobs waits to have is kept for it (quota.h).
      if (has_first_.insert(job.demand.user).second)
        quota->Take(devices, now_.steady, first.at - now_.steady);
    }
    for (const DeviceId device : first.devices)
      free_from_[device] = first.length ? first.at + *first.length : kNever;
    starts_[job.row.id] = first.at;
  }

  // The first before it whose start is not known, and that wants the same; or the job itself.
  base::JobId HeldUpBy(const Job& job) const {
    for (const ClassId id : UsableClasses(state_, job)) {
      if (const auto holder = held_.find(id); holder != held_.end()) return holder->second;
    }
    return job.row.id;
  }

  // It is not known when the job starts: its owner's others do not count on what it waits for.
  void KeepForEver(const Job& job) {
    QuotaTimeline* quota = QuotaOf(job);
    if (quota == nullptr || ExceedsQuota(state_, job)) return;
    quota->Take(LeastHeld(state_, job), now_.steady, std::nullopt);
    has_first_.insert(job.demand.user);
  }

  // In the queue's order, the first whose quota has room when the other job would start.
  std::map<core::Place, Deferred>::iterator ReadyBy(const std::optional<Choice>& other) {
    return std::ranges::find_if(
        deferred_, [&](const auto& entry) { return other && entry.second.ready <= other->at; });
  }

  // Devices may be free later than its quota has room, which may then have none: it is put off.
  void PlaceDeferred(std::map<core::Place, Deferred>::iterator next) {
    const Deferred deferred = next->second;
    deferred_.erase(next);
    QuotaOf(*deferred.job)->Return(deferred.job->row.spec.devices, deferred.ready, deferred.length);
    if (const auto first = First(*deferred.job, deferred.ready)) Take(*deferred.job, *first);
  }

  // nullptr: its owner has none.
  QuotaTimeline* QuotaOf(const Job& job) {
    const std::string& user = job.demand.user;
    if (user.empty()) return nullptr;
    return &quotas_.try_emplace(user, state_, user).first->second;
  }

  std::optional<Choice> First(const Job& job, SteadyMicros from) const {
    std::optional<Choice> first;
    const auto wanted = static_cast<size_t>(job.row.spec.devices);
    for (const ClassId id : UsableClasses(state_, job)) {
      if (held_.contains(id)) continue;
      const auto times = Times(id, job, from);
      if (times.size() < wanted) continue;
      const SteadyMicros at = times[wanted - 1].first;
      if (first && first->at <= at) continue;
      first = Choice{std::max(at, job.retry.pause_until.value_or(at)), id, {}, {}};
      for (size_t i = 0; i < wanted; ++i) first->devices.push_back(times[i].second);
    }
    if (!first) return first;
    const placement::DeviceClass& chosen = state_.free.pools()[first->device_class].device_class;
    first->length = LongestRunOn(state_.options, job, chosen);
    return first;
  }

  // When devices of the class are free for the job, as far as is known; in order.
  std::vector<std::pair<SteadyMicros, DeviceId>> Times(ClassId id, const Job& job,
                                                       SteadyMicros from) const {
    std::vector<std::pair<SteadyMicros, DeviceId>> times;
    const bool has_leases = HasLeases(state_, id);
    for (const Worker* worker : state_.devices) {
      if (worker == nullptr || !Reaches(state_, job, worker->device)) continue;
      std::optional<SteadyMicros> at = FreeFrom(state_, *worker, id, now_);
      if (!at) continue;
      const auto taken = free_from_.find(worker->device);
      if (taken != free_from_.end()) at = taken->second;
      if (*at == kNever) continue;
      at = std::max(*at, from);
      if (has_leases)
        at = ClearFrom(state_, *worker, *at, LengthAmongLeases(state_, job, id), now_);
      times.emplace_back(*at, worker->device);
    }
    std::ranges::sort(times);
    return times;
  }

  const State& state_;
  const Now& now_;
  std::map<base::JobId, SteadyMicros> starts_;
  std::map<DeviceId, SteadyMicros> free_from_;  // of devices that jobs have taken
  std::map<ClassId, base::JobId> held_;         // for jobs whose start is not known, by the first
  std::map<base::JobId, base::JobId> held_up_;  // Foreseen::held_up
  std::map<core::Place, Deferred> deferred_;    // in the queue's order
  std::map<std::string, QuotaTimeline> quotas_;
  std::set<std::string> has_first_;  // whose first job was looked at
};

const Foreseen& Foresee(const State& state, const Now& now) {
  Foreseen& foreseen = state.foreseen;
  const bool stands = foreseen.steps == state.steps && now.steady >= foreseen.at &&
                      now.steady - foreseen.at < kStands;
  if (!stands) {
    Forecast forecast(state, now);
    for (const Job* next : FirstInTurn(state, kForeseen)) forecast.Place(*next);
    foreseen = {.steps = state.steps, .at = now.steady};
    forecast.Finish(&foreseen);
  }
  return foreseen;
}

// What keeps a job's start from being foreseen while others are before it; empty: nothing.
std::string UnforeseenKind(const Job& job) {
  if (job.row.spec.exclusive) return "exclusive";
  return LinksOf(job) ? std::string(job::kLinksKey) : "";
}

}  // namespace

std::optional<SteadyMicros> ForeseenStart(const State& state, const Job& job, const Now& now) {
  const auto& starts = Foresee(state, now).starts;
  const auto start = starts.find(job.row.id);
  return start == starts.end() ? std::nullopt : std::optional(start->second);
}

std::string WhyNotForeseen(const State& state, const Job& job, const Now& now) {
  const auto& held_up = Foresee(state, now).held_up;
  const auto found = held_up.find(job.row.id);
  if (found == held_up.end()) return "behind " + std::to_string(kForeseen) + " others or more";
  const Job* before = FindJob(state, found->second);
  if (before == nullptr) return "";
  const std::string kind = UnforeseenKind(*before);
  if (before == &job) return kind;
  return "behind " + base::ToString(before->row.id) + (kind.empty() ? "" : ", " + kind);
}

}  // namespace trainctl::core
