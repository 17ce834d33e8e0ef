#include "server/core/reach.h"

#include <algorithm>

#include "common/job/constraint.h"

namespace trainctl::core {
namespace {

using placement::ClassId;
using placement::DeviceId;
using placement::FreeDevices;

std::vector<job::Constraint> WorkerConstraints(const job::JobSpec& spec) {
  std::vector<job::Constraint> constraints;
  for (const auto& [key, text] : spec.resources.constraints) {
    if (!job::IsOfWorker(key)) continue;
    if (auto constraint = job::ParseConstraint(key, text))
      constraints.push_back(std::move(*constraint));
  }
  return constraints;
}

void CountDevice(const FreeDevices& devices, DeviceId id, Reach* reach) {
  const FreeDevices::Entry& entry = devices.entry(id);
  const FreeDevices::Pool& pool = devices.pools()[entry.device_class];
  Reach::Part& part = reach->parts[entry.device_class];
  part.devices.push_back(id);
  ++part.count.total;
  part.count.drained += entry.drained;
  if (pool.unleased != entry.device_class) ++reach->parts[pool.unleased].count.leased;
}

Reach FindReach(const State& state, const job::JobSpec& spec) {
  Reach reach;
  reach.version = state.free.version();
  const std::vector<job::Constraint> constraints = WorkerConstraints(spec);
  for (size_t id = 0; id < state.devices.size(); ++id) {
    if (state.devices[id] == nullptr) continue;
    const job::SiteDevice device = SiteDeviceOf(state.devices[id]->row);
    const bool is_reached = std::ranges::all_of(
        constraints, [&](const job::Constraint& asked) { return job::Meets(asked, device); });
    if (is_reached) CountDevice(state.free, static_cast<DeviceId>(id), &reach);
  }
  return reach;
}

// Of what the job says of workers; two jobs that say something else have two keys.
std::string KeyOf(const job::JobSpec& spec) {
  std::string key;
  for (const auto& [name, text] : spec.resources.constraints) {
    if (!job::IsOfWorker(name)) continue;
    for (const std::string& part : {name, text}) key += std::to_string(part.size()) + ":" + part;
  }
  return key;
}

std::shared_ptr<const Reach> SharedReach(const State& state, const job::JobSpec& spec) {
  constexpr size_t kMost = 1000;
  const bool is_old =
      !state.reaches.empty() && state.reaches.begin()->second->version != state.free.version();
  if (is_old || state.reaches.size() >= kMost) state.reaches.clear();
  std::shared_ptr<const Reach>& reach = state.reaches[KeyOf(spec)];
  if (!reach) reach = std::make_shared<const Reach>(FindReach(state, spec));
  return reach;
}

const Reach::Part* PartOf(const Reach& reach, ClassId id) {
  const auto part = reach.parts.find(id);
  return part == reach.parts.end() ? nullptr : &part->second;
}

}  // namespace

const Reach* ReachOf(const State& state, const Job& job) {
  if (!job.names_workers) job.names_workers = job::NamesWorkers(job.row.spec);
  if (!*job.names_workers) return nullptr;
  if (!job.reach || job.reach->version != state.free.version())
    job.reach = SharedReach(state, job.row.spec);
  return job.reach.get();
}

bool Reaches(const State& state, const Job& job, DeviceId device) {
  const Reach* reach = ReachOf(state, job);
  if (reach == nullptr) return true;
  const Reach::Part* part = PartOf(*reach, state.free.entry(device).device_class);
  return part != nullptr && std::ranges::binary_search(part->devices, device);
}

ReachCount CountOf(const State& state, const Job& job, ClassId id) {
  const Reach* reach = ReachOf(state, job);
  if (reach == nullptr) {
    const FreeDevices::Pool& pool = state.free.pools()[id];
    return {pool.total, pool.drained, pool.leased};
  }
  const Reach::Part* part = PartOf(*reach, id);
  return part == nullptr ? ReachCount() : part->count;
}

int64_t FreeOf(const State& state, const Job& job, ClassId id) {
  const Reach* reach = ReachOf(state, job);
  if (reach == nullptr) return state.free.pools()[id].free;
  const Reach::Part* part = PartOf(*reach, id);
  if (part == nullptr) return 0;
  return std::ranges::count_if(part->devices,
                               [&](DeviceId device) { return state.free.entry(device).free; });
}

}  // namespace trainctl::core
