#include "server/core/linked_gangs.h"

#include <algorithm>
#include <map>
#include <utility>

#include "server/core/holds.h"
#include "server/core/leases.h"
#include "server/core/reach.h"
#include "server/placement/pack.h"

namespace trainctl::core {
namespace {

using base::SteadyMicros;
using placement::ClassId;
using placement::DeviceId;

size_t GangSize(const Job& job) { return static_cast<size_t>(job.row.spec.devices); }

int64_t MostLinkedAmong(const State& state, const Job& job, const std::vector<DeviceId>& devices) {
  return static_cast<int64_t>(job::MostLinked(
      devices.size(), GangSize(job), placement::LinkedBy(state.free, *LinksOf(job), devices)));
}

// Of one host, and one class but for leases.
void ReachOnHost(const State& state, const Job& job, ClassId unleased,
                 const std::vector<DeviceId>& devices, Reach* reach) {
  Reach::Part& part = reach->parts[unleased];
  part.linked = std::max(part.linked, MostLinkedAmong(state, job, devices));
  std::map<ClassId, std::vector<DeviceId>> all, open;
  for (const DeviceId device : devices) {
    const placement::FreeDevices::Entry& entry = state.free.entry(device);
    all[entry.device_class].push_back(device);
    if (!entry.drained) open[entry.device_class].push_back(device);
  }
  for (const auto& [id, own] : all) {
    if (id == unleased) continue;
    Reach::Part& leased = reach->parts[id];
    leased.linked = std::max(leased.linked, MostLinkedAmong(state, job, own));
  }
  for (const auto& [id, own] : open) {
    Reach::Part& of_class = reach->parts[id];
    of_class.open_linked = std::max(of_class.open_linked, MostLinkedAmong(state, job, own));
  }
  const auto are_linked = placement::LinkedBy(state.free, *LinksOf(job), devices);
  for (const size_t place : job::AllLinked(devices.size(), GangSize(job), are_linked))
    CountDevice(state.free, devices[place], reach);
}

// When each of a host's devices is free for jobs of a class.
struct Coming {
  const Worker* worker = nullptr;
  SteadyMicros at = 0;
};

// When enough of them are there that are linked.
std::optional<SteadyMicros> LinkedFrom(const State& state, const Job& job,
                                       std::vector<Coming> devices) {
  std::ranges::sort(devices, {}, &Coming::at);
  std::vector<DeviceId> there;
  for (size_t i = 0; i < devices.size(); ++i) {
    there.push_back(devices[i].worker->device);
    const bool more_now = i + 1 < devices.size() && devices[i + 1].at == devices[i].at;
    if (there.size() < GangSize(job) || more_now) continue;
    if (MostLinkedAmong(state, job, there) >= job.row.spec.devices) return devices[i].at;
  }
  return std::nullopt;
}

// As Holds::AmongLeases has it: by then other devices may be leased, so it is asked again.
std::optional<SteadyMicros> LinkedAmongLeases(const State& state, const Job& job, ClassId id,
                                              const std::vector<Coming>& devices, const Now& now) {
  const int64_t length = LengthAmongLeases(state, job, id);
  for (SteadyMicros at = now.steady;;) {
    std::vector<Coming> clear = devices;
    for (Coming& device : clear)
      device.at = ClearFrom(state, *device.worker, std::max(device.at, at), length, now);
    const std::optional<SteadyMicros> then = LinkedFrom(state, job, std::move(clear));
    if (!then || *then <= at) return then;
    at = *then;
  }
}

std::optional<SteadyMicros> LinkedStartOnHost(const State& state, const Job& job, ClassId id,
                                              const std::vector<Worker*>& host, const Now& now,
                                              const WholeHostFrom& whole_from) {
  SteadyMicros from = now.steady;
  if (job.row.spec.exclusive) {
    const std::optional<SteadyMicros> whole = whole_from(host);
    if (!whole) return std::nullopt;
    from = std::max(from, *whole);
  }
  std::vector<Coming> devices;
  for (const Worker* worker : host) {
    if (!Reaches(state, job, worker->device)) continue;
    if (const auto at = FreeFrom(state, *worker, id, now))
      devices.push_back({worker, std::max(*at, from)});
  }
  if (devices.size() < GangSize(job)) return std::nullopt;
  const bool has_leases = !job.row.spec.exclusive && HasLeases(state, id);
  return has_leases ? LinkedAmongLeases(state, job, id, devices, now)
                    : LinkedFrom(state, job, std::move(devices));
}

}  // namespace

const std::optional<job::Constraint>& LinksOf(const Job& job) {
  if (!job.names_workers) {
    job.links = job::LinksAskedFor(job.row.spec);
    job.names_workers = job.links || job::NamesWorkers(job.row.spec);
  }
  return job.links;
}

void ReachLinked(const State& state, const Job& job, const std::vector<const Worker*>& workers,
                 Reach* reach) {
  std::map<std::pair<std::string, ClassId>, std::vector<DeviceId>> groups;
  for (const Worker* worker : workers) {
    const ClassId own = state.free.entry(worker->device).device_class;
    groups[{worker->row.host, state.free.pools()[own].unleased}].push_back(worker->device);
  }
  for (const auto& [group, devices] : groups) ReachOnHost(state, job, group.second, devices, reach);
}

bool HasGang(const State& state, const Job& job, ClassId id, bool open) {
  if (!LinksOf(job)) return true;
  const Reach::Part* part = PartOf(*ReachOf(state, job), id);
  return part != nullptr && (open ? part->open_linked : part->linked) >= job.row.spec.devices;
}

int64_t MostLinkedOf(const State& state, const Job& job, ClassId id, const IsWanted& is_wanted) {
  int64_t most = 0;
  for (const auto& [name, host] : state.hosts) {
    std::vector<DeviceId> wanted;
    for (const Worker* worker : host) {
      const bool is_of_class = state.free.entry(worker->device).device_class == id;
      if (is_of_class && Reaches(state, job, worker->device) && is_wanted(*worker))
        wanted.push_back(worker->device);
    }
    if (static_cast<int64_t>(wanted.size()) > most)
      most = std::max(most, MostLinkedAmong(state, job, wanted));
  }
  return most;
}

std::optional<LinkedStart> LinkedStartOn(const State& state, const Job& job, ClassId id,
                                         const Now& now, const WholeHostFrom& whole_from) {
  std::optional<LinkedStart> first;
  for (const auto& [name, host] : state.hosts) {
    const auto at = LinkedStartOnHost(state, job, id, host, now, whole_from);
    if (at && (!first || *at < first->at)) first = {*at, name};
  }
  return first;
}

std::string LinksText(const Job& job) {
  if (!LinksOf(job)) return "";
  const std::string key(job::kLinksKey);
  return key + " " + job.row.spec.resources.constraints.at(key);
}

std::string FreeLinkedText(const State& state, const Job& job, ClassId id) {
  if (!LinksOf(job) || FreeOf(state, job, id) < job.row.spec.devices) return "";
  const int64_t most = MostLinkedOf(
      state, job, id, [&](const Worker& worker) { return state.free.entry(worker.device).free; });
  if (most >= job.row.spec.devices) return "";
  return ", " + (most < 2 ? "none" : "at most " + std::to_string(most)) + " of them linked so";
}

}  // namespace trainctl::core
