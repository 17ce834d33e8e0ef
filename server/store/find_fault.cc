#include "server/store/find_fault.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

namespace trainctl::store {
namespace {

constexpr int64_t kMostDevices = 1'000'000;      // of a host
constexpr int64_t kLastTime = int64_t{1} << 60;  // micros: beyond all calendars

bool IsTime(base::WallMicros at) { return at >= 0 && at < kLastTime; }

// Ranks are numbered from 0 without a gap, each on a worker of its own. One that has ended may have
// given its device to another job's.
std::string FindFaultOfRanks(const core::UnfinishedJob& job, const std::set<std::string>& workers,
                             std::set<std::string>* taken) {
  std::set<std::string> own;
  for (size_t i = 0; i < job.ranks.size(); ++i) {
    const core::RankRow& rank = job.ranks[i];
    const std::string name = ToString(rank.key);
    if (rank.key.job != job.row.id || rank.key.attempt != job.status.attempt ||
        rank.key.rank != static_cast<int64_t>(i))
      return name + " is not rank " + std::to_string(i) + " of " + base::ToString(job.row.id);
    if (!workers.contains(rank.worker))
      return name + " is on '" + rank.worker + "', which is no worker";
    const bool may_be_anothers = rank.proof != core::Proof::kNone;
    if (!own.insert(rank.worker).second || (!may_be_anothers && !taken->insert(rank.worker).second))
      return "two ranks are on '" + rank.worker + "'";
    if (!IsTime(rank.ended_at)) return name + " ended at " + std::to_string(rank.ended_at);
    if (rank.held_devices < 0 || rank.held_devices > kMostDevices)
      return name + " holds " + std::to_string(rank.held_devices) + " devices";
  }
  return "";
}

std::string FindFaultOfAttempt(const core::UnfinishedJob& job) {
  const std::string name = base::ToString(job.row.id);
  if (!job.attempt)
    return name + " is " + std::string(job::Name(job.status.state)) + " without an attempt";
  const core::AttemptRow& row = *job.attempt;
  if (row.job != job.row.id || row.attempt != job.status.attempt)
    return name + " has a foreign attempt";
  if (job.ranks.empty() || static_cast<int64_t>(job.ranks.size()) != job.row.spec.devices)
    return name + " has " + std::to_string(job.ranks.size()) + " ranks";
  if (!IsTime(row.placed_at)) return name + " was placed at " + std::to_string(row.placed_at);
  const auto is_rank = [&](const std::optional<int64_t>& rank) {
    return !rank || (*rank >= 0 && *rank < static_cast<int64_t>(job.ranks.size()));
  };
  const bool is_known =
      (!row.stop || is_rank(row.stop->rank)) && (!row.end || is_rank(row.end->rank));
  return is_known ? "" : name + " was stopped by a rank that it does not have";
}

// Leases, as they were promised: each device once at a time.
std::string FindFaultOfLeases(const core::StoredState& state) {
  std::map<std::string, std::map<base::WallMicros, const core::LeaseRow*>> by_worker;
  std::set<std::string> names;
  for (const core::LeaseRow& lease : state.leases) {
    const std::string name = "lease '" + lease.name + "'";
    if (lease.id <= 0 || lease.id >= state.next_lease)
      return name + " has a number that was never given";
    if (!names.insert(lease.name).second) return name + " is there twice";
    if (!IsTime(lease.start) || !IsTime(lease.end) || lease.end < lease.start)
      return name + " is at no time";
    if (lease.workers.empty()) return name + " has no device";
    for (const std::string& worker : lease.workers) {
      if (!by_worker[worker].emplace(lease.start, &lease).second)
        return name + " and another begin at once on '" + worker + "'";
    }
  }
  for (const auto& [worker, leases] : by_worker) {
    for (auto lease = leases.begin(); std::next(lease) != leases.end(); ++lease) {
      if (lease->second->end > std::next(lease)->first)
        return "leases overlap on '" + worker + "', one of them '" + lease->second->name + "'";
    }
  }
  return "";
}

}  // namespace

std::string FindFault(const core::StoredState& state) {
  if (state.site.empty()) return "it has no site id";
  std::set<std::string> workers, taken;
  for (const core::WorkerRow& worker : state.workers) {
    if (!workers.insert(worker.name).second) return "worker '" + worker.name + "' is there twice";
    if (!IsTime(worker.last_seen)) return "worker '" + worker.name + "' was seen at no time";
  }
  std::set<base::JobId> jobs;
  for (const core::UnfinishedJob& job : state.jobs) {
    const std::string name = base::ToString(job.row.id);
    if (job.row.id.value <= 0 || job.row.id.value >= state.next_job)
      return name + " has a number that was never given";
    if (!jobs.insert(job.row.id).second) return name + " is there twice";
    if (job.status.state == job::JobState::kFinished) return name + " is listed as unfinished";
    if (job.status.state == job::JobState::kQueued) continue;
    std::string fault = FindFaultOfAttempt(job);
    if (fault.empty()) fault = FindFaultOfRanks(job, workers, &taken);
    if (!fault.empty()) return fault;
  }
  if (std::string fault = FindFaultOfLeases(state); !fault.empty()) return fault;
  return state.next_job > 0 && state.next_group > 0 && state.next_lease > 0
             ? ""
             : "the numbers of jobs are used up";
}

}  // namespace trainctl::store
