#include "server/core/restore.h"

#include <algorithm>
#include <set>

#include "common/base/check.h"
#include "server/core/bounded_groups.h"
#include "server/core/ending.h"
#include "server/core/fair_share.h"
#include "server/core/inspect.h"
#include "server/core/job_indexes.h"
#include "server/core/lease_events.h"
#include "server/core/quota.h"
#include "server/core/retry.h"
#include "server/core/run_length.h"
#include "server/core/turn.h"
#include "server/core/workers.h"

namespace trainctl::core {
namespace {

// One of an attempt that ends may have given its device to another's; an exclusive job's, its host.
bool HasDevice(const JobRow& job, const AttemptRow& attempt, const std::vector<RankRow>& ranks,
               const RankRow& rank) {
  return !attempt.stop || std::ranges::any_of(ranks, [&](const RankRow& other) {
    const bool goes_with = job.spec.exclusive ? other.host == rank.host : other.key == rank.key;
    return goes_with && other.proof == Proof::kNone;
  });
}

// Its time limit counts without the clock, which may have been set since. After another boot the
// clock is all that there is.
base::SteadyMicros PlacedSteady(const AttemptRow& attempt, const std::string& boot_id,
                                const Now& now) {
  if (!boot_id.empty() && attempt.placed_boot == boot_id)
    return std::min(attempt.placed_steady, now.steady);
  return now.steady - std::max<int64_t>(0, now.wall - attempt.placed_at);
}

void RestoreAttempt(State& state, Job& job, UnfinishedJob& stored,
                    const std::map<job::RankKey, int64_t>& acks, const Now& now) {
  LiveAttempt& attempt = job.attempt.emplace();
  attempt.row = std::move(*stored.attempt);
  attempt.placed_steady = PlacedSteady(attempt.row, state.options.boot_id, now);
  attempt.progress_steady = now.steady;
  for (const RankRow& row : stored.ranks) {
    const auto ack = acks.find(row.key);
    const auto worker = state.workers.find(row.worker);
    CHECK(worker != state.workers.end())
        << ToString(row.key) << " is on '" << row.worker << "', which is not in the inventory";
    if (HasDevice(job.row, attempt.row, stored.ranks, row)) {
      worker->second.holder = row.key;
      attempt.held += row.held_devices;
    }
    attempt.ranks.push_back({.row = row,
                             .device = worker->second.device,
                             .sequence = ack == acks.end() ? 0 : ack->second,
                             .ended_steady = now.steady});
  }
  CHECK(static_cast<int64_t>(attempt.ranks.size()) == job.row.spec.devices)
      << base::ToString(job.row.id) << " has a torn gang";
  GoLive(state, job);
  ExpectEnd(state, job, ExpectedEnd(state, job, now));
}

// Of a QUEUED job, whose last attempt that was.
void RestoreRetry(State& state, Job& job, const AttemptRow& last, const Now& now) {
  if (last.end && MayBeTheDevices(*last.end)) Pause(state, job, last, now);
  if (!job.retry.failed_on.empty()) state.retrying.insert(job.row.id);
  RenewAvoided(state, job, now);
}

// `members` gets the places of those of bounded groups that are still to be queued.
void RestoreJob(State& state, UnfinishedJob& stored, const std::map<job::RankKey, int64_t>& acks,
                const Now& now, std::set<Place>* members) {
  Job& job = state.jobs[stored.row.id];
  job.row = std::move(stored.row);
  job.status = std::move(stored.status);
  EnterIndexes(state, job);
  JoinLease(state, job);
  for (const EndedAttempt& ended : stored.ended) NoteEnd(job, ended.row, ended.ranks);
  if (stored.attempt) return RestoreAttempt(state, job, stored, acks, now);
  CHECK(job.status.state == job::JobState::kQueued)
      << base::ToString(job.row.id) << " is " << job::Name(job.status.state);
  if (!stored.ended.empty()) RestoreRetry(state, job, stored.ended.back().row, now);
  if (state.bounded_groups.contains(job.row.group)) {
    members->insert(job.place());
  } else {
    Enqueue(state, job);
  }
}

// Those that have begun stay under way, ahead of older ones that have not, if they may start again.
void RestoreGroups(State& state, const StoredState& stored) {
  std::map<base::GroupId, int64_t> bounds;
  for (const GroupRow& group : stored.groups) bounds[group.id] = group.max_parallel;
  for (const UnfinishedJob& job : stored.jobs) {
    const auto bound = bounds.find(job.row.group);
    if (bound == bounds.end()) continue;
    JoinGroup(state, bound->first, bound->second);
    const bool has_begun = job.attempt || !HasTooManyRanks(state.options.policy, job.row);
    if (job.status.attempt > 0 && has_begun)
      state.bounded_groups[bound->first].under_way.insert(job.row.id);
  }
}

constexpr const char* kNotKnown =
    "not ended yet when the backup was written from which this site was restored";

void EndAttempt(const UnfinishedJob& job, const job::AttemptEnd& end, base::WallMicros at,
                std::vector<Persist>* rows) {
  AttemptRow row = *job.attempt;
  row.end = end;
  row.ended_at = std::max(at, row.placed_at);
  rows->push_back(std::move(row));
}

}  // namespace

State Restore(const Options& options, StoredState stored, const Now& now) {
  State state;
  state.options = options;
  state.began_at = now.wall;
  state.site = std::move(stored.site);
  state.gaps = std::move(stored.gaps);
  state.next_job = stored.next_job;
  state.next_group = stored.next_group;
  state.next_lease = stored.next_lease;
  for (const LeaseRow& row : stored.leases) RestoreLease(state, row, now);
  for (DrainRow& row : stored.drains) state.drains[row.target] = std::move(row);
  for (SlowRow& row : stored.slow) state.slow[row.worker] = std::move(row);
  for (FaultRow& row : stored.faults) state.faults[row.worker][row.fault.xid] = std::move(row);
  for (const WorkerRow& row : stored.workers) DescribeWorker(state, row).away_since = now.steady;
  RestoreGroups(state, stored);
  std::set<Place> members;
  for (UnfinishedJob& job : stored.jobs) RestoreJob(state, job, stored.acks, now, &members);
  // In this order the first go under way.
  for (const Place& place : members) Enqueue(state, state.jobs.at(place.job));
  for (UseRow& row : stored.use) state.shares.ended[row.user].push_back(std::move(row));
  RenewShares(state, now);
  return state;
}

std::vector<Persist> EndUnfinished(const StoredState& state, base::WallMicros at) {
  std::vector<Persist> rows;
  for (const UnfinishedJob& job : state.jobs) {
    const bool had_begun = job.attempt.has_value();
    const job::AttemptEnd end{had_begun ? job::Outcome::kNodeLost : job::Outcome::kCancelled,
                              std::string(kNotKnown) + (had_begun ? ": what became of it is not "
                                                                    "recorded; trainctl resume "
                                                                    "goes on from its checkpoints"
                                                                  : ": submit it again if it has "
                                                                    "not run since")};
    if (had_begun) EndAttempt(job, end, at, &rows);
    JobStatus status = job.status;
    status.state = job::JobState::kFinished;
    status.end = end;
    status.as_expected = AsExpected(job.row.spec, end.outcome);
    status.ended_at = std::max(at, job.row.submitted_at);
    rows.push_back(UpdateJob{job.row.id, std::move(status)});
    rows.push_back(EventRow{job.row.id, at, end.message});
  }
  return rows;
}

}  // namespace trainctl::core
