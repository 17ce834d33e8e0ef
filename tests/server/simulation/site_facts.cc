#include "tests/server/simulation/site_facts.h"

#include <algorithm>
#include <map>

#include "server/core/held.h"
#include "server/core/leases.h"

namespace trainctl::core {
namespace {

int64_t LeaseOf(const State& state, const Worker& worker) {
  const Lease* lease = ActiveLeaseOf(state, worker.row.name);
  return lease == nullptr ? 0 : lease->row.id;
}

// A lease to come may keep it from the job.
bool IsWantedLater(const State& state, const Worker& worker) {
  const auto leases = state.leased.find(worker.row.name);
  if (leases == state.leased.end()) return false;
  return std::ranges::any_of(
      leases->second, [&](const auto& entry) { return !state.leases.at(entry.second).active; });
}

// Whether an exclusive job could have the host.
bool IsEmpty(const State& state, const std::vector<Worker*>& host, int64_t lease) {
  return std::ranges::all_of(host, [&](const Worker* worker) {
    return worker->connected && !worker->holder && worker->strays.empty() &&
           LeaseOf(state, *worker) == lease && !IsWantedLater(state, *worker);
  });
}

// Whether so many are there that are of one kind, and of which that is true.
template <class Is>
bool HasEnough(const State& state, const Job& job, const Is& is) {
  std::map<Kind, int64_t> counts;
  for (const auto& [name, worker] : state.workers) {
    if (MayUse(state, job, worker) && is(worker) &&
        ++counts[KindOf(state, worker)] == job.row.spec.devices)
      return true;
  }
  return false;
}

// Whether its owner's quota lets it have any hosts of the site.
bool HasQuotaAnywhere(const State& state, const Job& job) {
  const auto most = state.options.policy.Of(job.row.user).max_running_devices;
  if (!job.row.spec.exclusive || !most) return HasQuota(state, job);
  int64_t largest = 0;
  for (const auto& [host, workers] : state.hosts) largest = std::max(largest, std::ssize(workers));
  return DevicesHeldBy(state, job.row.user) + job.row.spec.devices * largest <= *most;
}

// Whether the job may keep others from what it waits for.
bool MayHold(const State& state, const Job& job) {
  return HasQuota(state, job) &&
         HasEnough(state, job, [&](const Worker& worker) { return !IsOutOfOrder(state, worker); });
}

}  // namespace

Kind KindOf(const State& state, const Worker& worker) {
  const job::Device& device = worker.row.device;
  return {device.kind, device.name, device.memory_bytes, device.compute_capability,
          LeaseOf(state, worker)};
}

const RankRow* FindLiveRow(const State& state, const job::RankKey& key) {
  const Job* job = FindJob(state, key.job);
  if (job == nullptr || !job->attempt || job->attempt->row.attempt != key.attempt) return nullptr;
  const std::vector<Rank>& ranks = job->attempt->ranks;
  return key.rank < std::ssize(ranks) ? &ranks[static_cast<size_t>(key.rank)].row : nullptr;
}

bool IsOutOfOrder(const State& state, const Worker& worker) {
  if (state.drains.contains(worker.row.name) || state.drains.contains(worker.row.host)) return true;
  const auto faults = state.faults.find(worker.row.name);
  return faults != state.faults.end() && std::ranges::any_of(faults->second, [](const auto& entry) {
           return KeepsOut(entry.second);
         });
}

bool IsFree(const State& state, const Worker& worker) {
  return worker.connected && !worker.holder && worker.strays.empty() &&
         worker.word == DeviceWord::kFree && !IsOutOfOrder(state, worker) &&
         OwnerOfHost(state, worker.row.host) == nullptr;
}

namespace {

bool IsSuitable(const Job& job, const Worker& worker) {
  std::string reason;
  return !job.avoids.contains(worker.row.name) &&
         job::MeetsConstraints(job.row.spec, SiteDeviceOf(worker.row), &reason);
}

}  // namespace

bool MayUse(const State& state, const Job& job, const Worker& worker) {
  return LeaseOf(state, worker) == job.lease && IsSuitable(job, worker);
}

namespace {

// Whether an exclusive job may have the worker's host: now, or once the lease is over that has it.
bool MayHaveHostOf(const State& state, const Job& job, const Worker& worker) {
  return job.lease == 0 ? IsSuitable(job, worker) : MayUse(state, job, worker);
}

}  // namespace

std::set<const Worker*> Wanted(const State& state, const Job& job) {
  std::set<const Worker*> wanted;
  for (const auto& [host, workers] : state.hosts) {
    const auto may_use = [&](const Worker* worker) { return MayUse(state, job, *worker); };
    const bool whole = job.row.spec.exclusive && std::ranges::any_of(workers, [&](const Worker* w) {
                         return MayHaveHostOf(state, job, *w);
                       });
    std::ranges::copy_if(workers, std::inserter(wanted, wanted.end()),
                         [&](const Worker* worker) { return whole || may_use(worker); });
  }
  return wanted;
}

int64_t DevicesHeldBy(const State& state, const std::string& user) {
  int64_t held = 0;
  for (const auto& [name, worker] : state.workers) {
    if (!worker.holder) continue;
    const Job& job = state.jobs.at(worker.holder->job);
    const bool counts = job.row.user == user && !job.row.spec.resources.lease;
    if (counts) held += job.attempt->ranks.at(worker.holder->rank).row.held_devices;
  }
  return held;
}

bool HasQuota(const State& state, const Job& job) {
  const auto most = state.options.policy.Of(job.row.user).max_running_devices;
  return !most || job.row.spec.resources.lease ||
         DevicesHeldBy(state, job.row.user) + LeastHeld(state, job) <= *most;
}

std::vector<const Job*> InOrder(const State& state) {
  std::vector<const Job*> jobs;
  for (const auto& [id, job] : state.jobs) {
    if (job.lane == Lane::kQueue) jobs.push_back(&job);
  }
  std::ranges::sort(
      jobs, [](const Job* left, const Job* right) { return left->place() < right->place(); });
  return jobs;
}

std::vector<const Job*> FirstOfTheirLines(const State& state) {
  std::vector<const Job*> first;
  std::set<const Worker*> wanted_before;
  std::set<std::string> users_before;
  for (const Job* job : InOrder(state)) {
    if (wanted_before.size() == state.workers.size()) break;
    const bool has_quota = state.options.policy.Of(job->row.user).max_running_devices.has_value();
    const bool is_behind = has_quota && users_before.contains(job->row.user);
    users_before.insert(job->row.user);
    if (!MayHold(state, *job)) continue;
    const std::set<const Worker*> wanted = Wanted(state, *job);
    const bool competes = std::ranges::any_of(
        wanted, [&](const Worker* worker) { return wanted_before.contains(worker); });
    if (!competes && !is_behind) first.push_back(job);
    wanted_before.insert(wanted.begin(), wanted.end());
  }
  return first;
}

bool CouldStart(const State& state, const Job& job) {
  if (job.retry.pause_until || !HasQuotaAnywhere(state, job)) return false;
  return HasEnough(state, job, [&](const Worker& worker) {
    if (!IsFree(state, worker) || IsWantedLater(state, worker)) return false;
    return !job.row.spec.exclusive || IsEmpty(state, state.hosts.at(worker.row.host), job.lease);
  });
}

}  // namespace trainctl::core
