#include "server/core/holds.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "server/core/leases.h"
#include "server/core/linked_gangs.h"
#include "server/core/reach.h"
#include "server/core/retry.h"
#include "server/core/run_length.h"
#include "server/core/waiting.h"

namespace trainctl::core {
namespace {

using base::SteadyMicros;
using placement::ClassId;
using placement::DeviceId;
using placement::DeviceSet;
using placement::FreeDevices;

// Whether the device is of the class, but for a lease that has it now.
bool IsLeasedFrom(const State& state, const Worker& worker, ClassId id) {
  const ClassId own = state.free.entry(worker.device).device_class;
  return own != id && state.free.pools()[own].unleased == id;
}

// When nothing runs on the host any more, as far as leases don't keep it; nullopt: not known.
std::optional<SteadyMicros> EmptyAt(const State& state, const std::vector<Worker*>& host,
                                    int64_t lease, SteadyMicros now) {
  SteadyMicros at = now;
  for (const Worker* worker : host) {
    if (LeavesHostEmpty(*worker)) continue;
    const FreeDevices::Entry& entry = state.free.entry(worker->device);
    const int64_t own = state.free.pools()[entry.device_class].device_class.lease;
    const bool goes_with_lease = own != lease && worker->connected && worker->strays.empty();
    if (goes_with_lease) continue;
    if (!entry.coming) return std::nullopt;
    at = std::max(at, *entry.coming);
  }
  return at;
}

// Devices of the class that the host has for the job once nothing runs there.
int64_t DevicesOf(const State& state, const Job& job, const std::vector<Worker*>& host, ClassId id,
                  const Now& now) {
  return std::ranges::count_if(host, [&](const Worker* worker) {
    return FreeFrom(state, *worker, id, now) && Reaches(state, job, worker->device);
  });
}

// When so many devices of the class are free that the job reaches, which names workers; nullopt:
// not known.
std::optional<SteadyMicros> ReachedAt(const State& state, ClassId id, const Job& job,
                                      SteadyMicros now) {
  int64_t missing = job.row.spec.devices - FreeOf(state, job, id);
  if (missing <= 0) return now;
  const Reach::Part* part = PartOf(*ReachOf(state, job), id);
  if (part == nullptr) return std::nullopt;
  for (const auto& [at, device] : state.free.pools()[id].coming) {
    if (part->devices.Contains(device) && --missing == 0) return std::max(at, now);
  }
  return std::nullopt;
}

// How many of them are free by then.
int64_t ReachedBy(const State& state, ClassId id, const Job& job, SteadyMicros then) {
  int64_t count = FreeOf(state, job, id);
  const Reach::Part* part = PartOf(*ReachOf(state, job), id);
  if (part == nullptr) return count;
  for (const auto& [at, device] : state.free.pools()[id].coming) {
    if (at > then) break;
    count += part->devices.Contains(device) ? 1 : 0;
  }
  return count;
}

// Devices of the class on hosts that the job reaches.
DeviceSet DevicesOfHosts(const State& state, ClassId id, const Job& job) {
  DeviceSet devices;
  for (const auto& [name, host] : state.hosts) {
    const bool is_reached = std::ranges::any_of(
        host, [&](const Worker* worker) { return Reaches(state, job, worker->device); });
    for (const Worker* worker : host) {
      if (is_reached && state.free.entry(worker->device).device_class == id)
        devices.Insert(worker->device);
    }
  }
  return devices;
}

DeviceSet OnHost(const State& state, const DeviceSet& devices, const std::string& host) {
  DeviceSet there;
  for (const Worker* worker : state.hosts.at(host)) {
    if (devices.Contains(worker->device)) there.Insert(worker->device);
  }
  return there;
}

// Whether the job reaches one of these devices of the class.
bool ReachesAny(const State& state, ClassId id, const Job& job, const DeviceSet& devices) {
  const Reach* reach = ReachOf(state, job);
  if (reach == nullptr) return !devices.IsEmpty();
  const Reach::Part* part = PartOf(*reach, id);
  return part != nullptr && part->devices.Meets(devices);
}

// Whether all of the host is the lease's; 0: it may be, once leases are over.
bool IsOfLease(const State& state, const std::vector<Worker*>& host, int64_t lease) {
  return lease == 0 || std::ranges::all_of(host, [&](const Worker* worker) {
           const ClassId id = state.free.entry(worker->device).device_class;
           return state.free.pools()[id].device_class.lease == lease;
         });
}

// When no lease wants a device of the host for so long.
SteadyMicros ClearHostFrom(const State& state, const std::vector<Worker*>& host, SteadyMicros from,
                           int64_t length, const Now& now) {
  for (SteadyMicros at = from;; from = at) {
    for (const Worker* worker : host) at = ClearFrom(state, *worker, at, length, now);
    if (at == from) return at;
  }
}

}  // namespace

std::optional<SteadyMicros> FreeFrom(const State& state, const Worker& worker, ClassId id,
                                     const Now& now) {
  const FreeDevices::Entry& entry = state.free.entry(worker.device);
  if (entry.device_class == id) return entry.free ? std::optional(now.steady) : entry.coming;
  const bool is_in_order = worker.connected && !entry.drained && worker.strays.empty() &&
                           (worker.holder || worker.word == DeviceWord::kFree);
  if (!is_in_order || !IsLeasedFrom(state, worker, id)) return std::nullopt;
  return now.steady;
}

bool Hold::HasByItself(DeviceId device) const { return devices && devices->Contains(device); }

const Hold* Holds::Whole(ClassId id) const {
  const std::vector<Hold>& held = held_[id];
  return held.empty() || held.back().devices ? nullptr : &held.back();
}

const Hold* Holds::Find(ClassId id, base::JobId job) const {
  const auto found =
      std::ranges::find(held_[id], job, [](const Hold& hold) { return hold.place.job; });
  return found == held_[id].end() ? nullptr : &*found;
}

bool Holds::AllAreWhole() const {
  return std::ranges::all_of(
      held_, [](const std::vector<Hold>& held) { return !held.empty() && !held.back().devices; });
}

int64_t Holds::LongestGap() const {
  int64_t longest = 0;
  for (const std::vector<Hold>& held : held_) {
    for (const Hold& hold : held)
      longest = std::max(longest, hold.start.value_or(now_.steady) - now_.steady);
  }
  return longest;
}

bool Holds::HasParts(ClassId id) const { return !held_[id].empty() && held_[id].front().devices; }

bool Holds::HasSeenKindOf(const Job& job) const {
  return std::ranges::any_of(linked_, [&](const Job* other) {
    Demand demand = other->demand;
    demand.user = job.demand.user;
    return demand == job.demand;
  });
}

// Of an exclusive job all of its hosts.
std::optional<DeviceSet> Holds::PartFor(ClassId id, const Job& job, const std::string& host) const {
  const Reach* reach = ReachOf(state_, job);
  if (reach == nullptr) return std::nullopt;
  DeviceSet devices;
  if (job.row.spec.exclusive) {
    devices = DevicesOfHosts(state_, id, job);
  } else if (const Reach::Part* part = PartOf(*reach, id)) {
    devices = host.empty() ? part->devices : OnHost(state_, part->devices, host);
  }
  for (const Hold& hold : held_[id]) {
    if (hold.devices) devices.Erase(*hold.devices);
  }
  return devices;
}

void Holds::Add(const Job& job, bool may_be_passed) {
  if (AllAreWhole() || !MayHold(job, now_)) return;
  if (LinksOf(job)) {
    if (HasSeenKindOf(job)) return;
    linked_.push_back(&job);
  }
  std::vector<ClassId> open =
      job.row.spec.exclusive ? WantedClasses(state_, job) : UsableClasses(state_, job);
  const std::optional<Start> first = may_be_passed ? FirstStart(job) : std::nullopt;
  const std::string host = first ? first->host : "";
  std::erase_if(
      open, [&](ClassId id) { return Whole(id) != nullptr || (!host.empty() && id != first->id); });
  const std::optional<SteadyMicros> start =
      first ? std::optional(first->at) : std::optional<SteadyMicros>();
  for (const ClassId id : open) {
    const bool has_spare = first && first->id == id && !job.row.spec.exclusive && !LinksOf(job);
    const int64_t spare = has_spare ? SpareOf(id, job, *start) : 0;
    auto part = PartFor(id, job, host);
    if (!part || !part->IsEmpty())
      held_[id].push_back({job.place(), start, spare, std::move(part)});
  }
}

std::optional<Holds::Start> Holds::FirstStart(const Job& job) const {
  std::optional<Start> first;
  for (const ClassId id : UsableClasses(state_, job)) {
    if (Whole(id) != nullptr) continue;
    std::optional<Start> start = StartOn(id, job);
    if (!start) continue;
    start->at = std::max(start->at, job.retry.pause_until.value_or(start->at));
    if (!first || start->at < first->at) first = std::move(start);
  }
  return first;
}

int64_t Holds::HeldBy(ClassId id, const Job& job, SteadyMicros at) const {
  int64_t count = 0;
  for (const Hold& hold : held_[id]) {
    if (!hold.devices) continue;
    count += hold.devices->Count([&](DeviceId device) {
      const FreeDevices::Entry& entry = state_.free.entry(device);
      return (entry.free || (entry.coming && *entry.coming <= at)) && Reaches(state_, job, device);
    });
  }
  return count;
}

int64_t Holds::SpareOf(ClassId id, const Job& job, SteadyMicros start) const {
  const int64_t others = HasParts(id) ? HeldBy(id, job, start) : 0;
  const int64_t devices = job.row.spec.devices + others;
  if (HasLeases(state_, id)) return AmongLeases(id, job)->clear - devices;
  const FreeDevices::Pool& pool = state_.free.pools()[id];
  if (ReachOf(state_, job) == nullptr) return pool.FreeBy(start, pool.free + devices) - devices;
  return ReachedBy(state_, id, job, start) - devices;
}

bool Holds::Hinder(ClassId id, const Job& job) const {
  if (held_[id].empty()) return false;
  if (Whole(id) != nullptr) return true;
  const ReachCount count = CountOf(state_, job, id);
  int64_t left = count.total - count.drained;
  for (const Hold& hold : held_[id]) {
    left -= hold.devices->Count([&](DeviceId device) {
      return !state_.free.entry(device).drained && Reaches(state_, job, device);
    });
  }
  return left < job.row.spec.devices;
}

int64_t Holds::KeptFrom(ClassId id, const Job& job) const {
  int64_t count = 0;
  for (const Hold& hold : held_[id]) {
    if (!hold.devices) continue;
    count += hold.devices->Count([&](DeviceId device) {
      return state_.free.entry(device).free && Reaches(state_, job, device) && Bars(device, job);
    });
  }
  return count;
}

int64_t Holds::Gap(ClassId id, const Job& job) const {
  int64_t longest = 0;
  for (const Hold& hold : held_[id]) {
    const bool is_met = !hold.devices || ReachesAny(state_, id, job, *hold.devices);
    if (is_met && hold.start) longest = std::max(longest, *hold.start - now_.steady);
  }
  return std::min(longest, RoomFor(id, job).value_or(0));
}

std::optional<int64_t> Holds::RoomFor(ClassId id, const Job& job) const {
  const Hold* hold = Whole(id);
  if (hold == nullptr || HasSpareFor(*hold, job)) return std::numeric_limits<int64_t>::max();
  return hold->start ? std::optional(*hold->start - now_.steady) : std::nullopt;
}

bool Holds::MayYield(ClassId id) const {
  const Hold* hold = Whole(id);
  return hold == nullptr || (hold->start && (*hold->start > now_.steady || hold->spare > 0));
}

bool Holds::Yields(ClassId id, const Job& job) const {
  const Hold* hold = Whole(id);
  return hold == nullptr || MayPass(*hold, id, job);
}

bool Holds::Bars(DeviceId device, const Job& job) const {
  const ClassId id = state_.free.entry(device).device_class;
  return std::ranges::any_of(held_[id], [&](const Hold& hold) {
    return hold.HasByItself(device) && !MayPass(hold, id, job);
  });
}

void Holds::Take(const std::vector<DeviceId>& devices, const Job& job) {
  const ClassId id = state_.free.entry(devices.front()).device_class;
  for (Hold& hold : held_[id]) {
    if (EndsInGap(hold, id, job)) continue;
    hold.spare -= std::ranges::count_if(
        devices, [&](DeviceId device) { return !hold.devices || hold.HasByItself(device); });
  }
}

// An exclusive job takes whole hosts: what is left over is not counted by host.
bool Holds::HasSpareFor(const Hold& hold, const Job& job) {
  return hold.start && !job.row.spec.exclusive && hold.spare >= job.row.spec.devices;
}

bool Holds::MayPass(const Hold& hold, ClassId id, const Job& job) const {
  return job.place() < hold.place || HasSpareFor(hold, job) || EndsInGap(hold, id, job);
}

bool Holds::EndsInGap(const Hold& hold, ClassId id, const Job& job) const {
  const std::optional<int64_t> longest =
      LongestRunOn(state_.options, job, state_.free.pools()[id].device_class);
  return longest && hold.start && *longest <= *hold.start - now_.steady;
}

std::optional<Holds::Start> Holds::StartOn(ClassId id, const Job& job) const {
  const auto of_class = [&](std::optional<SteadyMicros> at) {
    return at ? std::optional(Start{std::max(*at, now_.steady), id, ""}) : std::nullopt;
  };
  if (LinksOf(job)) {
    auto linked = LinkedStartOn(state_, job, id, now_, [&](const std::vector<Worker*>& host) {
      return WholeFrom(id, job, host);
    });
    if (!linked) return std::nullopt;
    return Start{linked->at, id, job.row.spec.exclusive ? "" : std::move(linked->host)};
  }
  if (job.row.spec.exclusive) return of_class(StartOnHosts(id, job));
  if (HasLeases(state_, id)) {
    const auto among = AmongLeases(id, job);
    return of_class(among ? std::optional(among->at) : std::nullopt);
  }
  const int64_t devices = job.row.spec.devices;
  if (ReachOf(state_, job) != nullptr) return of_class(ReachedAt(state_, id, job, now_.steady));
  return of_class(state_.free.pools()[id].FreeAt(devices));
}

// The n-th device that is clear says when; by then another may be leased, so it is asked again.
std::optional<Holds::LeasedStart> Holds::AmongLeases(ClassId id, const Job& job) const {
  std::vector<std::pair<const Worker*, SteadyMicros>> devices;  // and when each is free
  for (const auto& [name, worker] : state_.workers) {
    const std::optional<SteadyMicros> at = FreeFrom(state_, worker, id, now_);
    if (at && Reaches(state_, job, worker.device)) devices.emplace_back(&worker, *at);
  }
  const auto wanted = static_cast<size_t>(job.row.spec.devices);
  if (devices.size() < wanted) return std::nullopt;
  const int64_t length = LengthAmongLeases(state_, job, id);
  std::vector<SteadyMicros> clear(devices.size());
  for (SteadyMicros at = now_.steady;;) {
    std::ranges::transform(devices, clear.begin(), [&](const auto& device) {
      return ClearFrom(state_, *device.first, std::max(device.second, at), length, now_);
    });
    std::ranges::sort(clear);
    if (clear[wanted - 1] <= at)
      return LeasedStart{at, std::ranges::upper_bound(clear, at) - clear.begin()};
    at = clear[wanted - 1];
  }
}

std::optional<SteadyMicros> Holds::WholeFrom(ClassId id, const Job& job,
                                             const std::vector<Worker*>& host) const {
  const std::optional<SteadyMicros> at = EmptyAt(state_, host, job.lease, now_.steady);
  if (!at || !IsOfLease(state_, host, job.lease)) return std::nullopt;
  if (job.lease != 0) return at;
  return ClearHostFrom(state_, host, *at, LengthAmongLeases(state_, job, id), now_);
}

std::optional<SteadyMicros> Holds::StartOnHosts(ClassId id, const Job& job) const {
  std::vector<std::pair<SteadyMicros, int64_t>> hosts;  // when each is empty, and its devices
  for (const auto& [name, host] : state_.hosts) {
    if (const auto at = WholeFrom(id, job, host))
      hosts.emplace_back(*at, DevicesOf(state_, job, host, id, now_));
  }
  std::ranges::sort(hosts);
  int64_t missing = job.row.spec.devices;
  for (const auto& [at, devices] : hosts) {
    missing -= devices;
    if (missing <= 0) return at;
  }
  return std::nullopt;
}

}  // namespace trainctl::core
