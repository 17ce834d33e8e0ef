#include "server/core/holds.h"

#include <algorithm>
#include <utility>

#include "server/core/leases.h"
#include "server/core/run_length.h"
#include "server/core/waiting.h"

namespace trainctl::core {
namespace {

using base::SteadyMicros;
using placement::ClassId;
using placement::FreeDevices;

// When nothing runs on the host any more; nullopt: not known.
std::optional<SteadyMicros> EmptyAt(const FreeDevices& devices, const std::vector<Worker*>& host,
                                    SteadyMicros now) {
  SteadyMicros at = now;
  for (const Worker* worker : host) {
    if (LeavesHostEmpty(*worker)) continue;
    const std::optional<SteadyMicros>& coming = devices.entry(worker->device).coming;
    if (!coming) return std::nullopt;
    at = std::max(at, *coming);
  }
  return at;
}

// Devices of the class that the host has once nothing runs there.
int64_t DevicesOf(const FreeDevices& devices, const std::vector<Worker*>& host, ClassId id) {
  return std::ranges::count_if(host, [&](const Worker* worker) {
    const FreeDevices::Entry& entry = devices.entry(worker->device);
    return entry.device_class == id && (entry.free || entry.coming);
  });
}

// Whether all of the host is the lease's; 0: nobody's.
bool IsOfLease(const State& state, const std::vector<Worker*>& host, int64_t lease) {
  return std::ranges::all_of(host, [&](const Worker* worker) {
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

void Holds::Add(const Job& job) {
  const std::vector<ClassId> usable = UsableClasses(state_, job);
  std::vector<ClassId> open = job.row.spec.exclusive ? WantedClasses(state_, job) : usable;
  std::erase_if(open, [&](ClassId id) { return Find(id) != nullptr; });
  std::optional<std::pair<SteadyMicros, ClassId>> first;
  for (const ClassId id : usable) {
    if (Find(id) != nullptr) continue;
    const std::optional<SteadyMicros> start = StartOn(id, job);
    if (start && (!first || *start < first->first)) first = {*start, id};
  }
  for (const ClassId id : open) held_[id] = Hold{job.row.id, std::nullopt, 0};
  if (!first) return;
  const auto [start, best] = *first;
  for (const ClassId id : open) held_[id]->start = start;
  if (job.row.spec.exclusive) return;
  const FreeDevices::Pool& pool = state_.free.pools()[best];
  const int64_t devices = job.row.spec.devices;
  if (HasLeasesAhead(state_, best)) {
    held_[best]->spare = AmongLeases(best, job)->clear - devices;
    return;
  }
  held_[best]->spare = pool.FreeBy(start, pool.free + devices) - devices;
}

int64_t Holds::Gap(ClassId id) const {
  const Hold* hold = Find(id);
  return hold == nullptr || !hold->start ? 0 : *hold->start - now_.steady;
}

bool Holds::MayYield(ClassId id) const {
  const Hold* hold = Find(id);
  return hold == nullptr || (hold->start && (*hold->start > now_.steady || hold->spare > 0));
}

bool Holds::Yields(ClassId id, const Job& job) const {
  const Hold* hold = Find(id);
  if (hold == nullptr || !hold->start) return hold == nullptr;
  return hold->spare >= job.row.spec.devices || EndsInGap(id, job);
}

bool Holds::YieldsHosts(ClassId id, const Job& job) const {
  return Find(id) == nullptr || EndsInGap(id, job);
}

void Holds::Take(ClassId id, const Job& job) {
  if (Find(id) != nullptr && !EndsInGap(id, job)) held_[id]->spare -= job.row.spec.devices;
}

bool Holds::EndsInGap(ClassId id, const Job& job) const {
  const std::optional<int64_t> longest =
      LongestRunOn(state_.options, job, state_.free.pools()[id].device_class);
  return longest && *longest <= Gap(id);
}

std::optional<SteadyMicros> Holds::StartOn(ClassId id, const Job& job) const {
  if (job.row.spec.exclusive) return StartOnHosts(id, job);
  if (HasLeasesAhead(state_, id)) {
    const auto among = AmongLeases(id, job);
    return among ? std::optional(among->at) : std::nullopt;
  }
  const std::optional<SteadyMicros> at = state_.free.pools()[id].FreeAt(job.row.spec.devices);
  return at ? std::optional(std::max(*at, now_.steady)) : std::nullopt;
}

// The n-th device that is clear says when; by then another may be leased, so it is asked again.
std::optional<Holds::LeasedStart> Holds::AmongLeases(ClassId id, const Job& job) const {
  std::vector<std::pair<const Worker*, SteadyMicros>> devices;  // and when each is free
  for (const auto& [name, worker] : state_.workers) {
    const FreeDevices::Entry& entry = state_.free.entry(worker.device);
    if (entry.device_class != id || (!entry.free && !entry.coming)) continue;
    devices.emplace_back(&worker, entry.free ? now_.steady : *entry.coming);
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

std::optional<SteadyMicros> Holds::StartOnHosts(ClassId id, const Job& job) const {
  std::vector<std::pair<SteadyMicros, int64_t>> hosts;  // when each is empty, and its devices
  for (const auto& [name, host] : state_.hosts) {
    std::optional<SteadyMicros> at = EmptyAt(state_.free, host, now_.steady);
    if (!at || !IsOfLease(state_, host, job.lease)) continue;
    if (job.lease == 0)
      at = ClearHostFrom(state_, host, *at, LengthAmongLeases(state_, job, id), now_);
    hosts.emplace_back(*at, DevicesOf(state_.free, host, id));
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
