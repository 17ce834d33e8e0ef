#include "server/core/holds.h"

#include <algorithm>
#include <utility>

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
  const std::optional<SteadyMicros> at = state_.free.pools()[id].FreeAt(job.row.spec.devices);
  return at ? std::optional(std::max(*at, now_.steady)) : std::nullopt;
}

std::optional<SteadyMicros> Holds::StartOnHosts(ClassId id, const Job& job) const {
  std::vector<std::pair<SteadyMicros, int64_t>> hosts;  // when each is empty, and its devices
  for (const auto& [name, host] : state_.hosts) {
    const std::optional<SteadyMicros> at = EmptyAt(state_.free, host, now_.steady);
    if (at) hosts.emplace_back(*at, DevicesOf(state_.free, host, id));
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
