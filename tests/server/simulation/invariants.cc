#include "tests/server/simulation/invariants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "common/job/batch.h"
#include "server/core/leases.h"
#include "server/core/loan.h"
#include "tests/server/describe.h"
#include "tests/server/simulation/starvation.h"
#include "tests/server/simulation/true_reasons.h"
#include "tests/server/simulation/what_workers_know.h"

namespace trainctl::core {
namespace {

// The worker has not said yet what its device is, behind the rank's end: nobody has it but that
// rank.
bool OwesItsWord(const State& state, const Rank& rank, const Now& now) {
  const Worker& worker = state.workers.at(rank.row.worker);
  return worker.connected && !worker.holder && worker.word == DeviceWord::kUnknown &&
         now.steady - rank.ended_steady < state.options.device_word_timeout_us;
}

// Each live attempt has all its devices, of one class; each device serves one attempt at most. One
// that is being stopped may have given back those of ranks that have ended.
void GangsAreWhole(const State& state, const Now& now) {
  std::map<std::string, job::RankKey> holders;
  for (const auto& [id, job] : state.live) {
    ASSERT_TRUE(job->attempt);
    ASSERT_EQ(static_cast<int64_t>(job->attempt->ranks.size()), job->row.spec.devices)
        << base::ToString(id);
    std::set<placement::DeviceClass> classes;
    for (const Rank& rank : job->attempt->ranks) {
      const Worker& worker = state.workers.at(rank.row.worker);
      const bool may_be_given_back = rank.row.proof != Proof::kNone && job->attempt->row.stop;
      if (may_be_given_back && worker.holder != rank.row.key) {
        ASSERT_FALSE(OwesItsWord(state, rank, now))
            << Short(rank.row.key) << " has given back " << rank.row.worker << " too early";
        continue;
      }
      const auto [other, is_new] = holders.try_emplace(rank.row.worker, rank.row.key);
      ASSERT_TRUE(is_new) << rank.row.worker << " serves " << Short(rank.row.key) << " and "
                          << Short(other->second);
      placement::DeviceClass own =
          state.free.pools()[state.free.entry(worker.device).device_class].device_class;
      own.lease = 0;  // another's may have begun on some of them
      classes.insert(own);
    }
    ASSERT_LE(classes.size(), 1u) << base::ToString(id);
  }
  for (const auto& [name, worker] : state.workers) {
    const auto holder = holders.find(name);
    ASSERT_EQ(worker.holder.has_value(), holder != holders.end()) << name;
    ASSERT_TRUE(!worker.holder || *worker.holder == holder->second) << name;
    const placement::FreeDevices::Entry& entry = state.free.entry(worker.device);
    ASSERT_FALSE(entry.free && (worker.holder || !worker.connected || entry.drained)) << name;
  }
}

// No device of an exclusive job's hosts is another's, or free.
void ExclusiveHostsAreTheirs(const State& state) {
  for (const auto& [id, job] : state.live) {
    if (!job->row.spec.exclusive) continue;
    for (const Rank& rank : job->attempt->ranks) {
      for (const auto& [name, worker] : state.workers) {
        if (worker.row.host != rank.row.host || OwnerOfHost(state, worker.row.host) != job)
          continue;
        ASSERT_TRUE(!worker.holder || worker.holder->job == id)
            << name << " serves " << Short(*worker.holder) << " beside " << base::ToString(id);
        ASSERT_FALSE(state.free.entry(worker.device).free) << name;
      }
    }
  }
}

// Of a bounded group no more are live than may be, and none waits for nothing.
void GroupsKeepTheirBounds(const State& state) {
  for (const auto& [id, group] : state.bounded_groups) {
    int64_t live = 0, unfinished = 0;
    for (const auto& [job_id, job] : state.jobs) {
      if (job.row.group != id) continue;
      ++unfinished;
      live += job.attempt.has_value();
      ASSERT_TRUE(!job.attempt || group.under_way.contains(job_id)) << base::ToString(job_id);
      ASSERT_EQ(job.lane == Lane::kBounded, group.waiting.contains(job.place()))
          << base::ToString(job_id);
    }
    ASSERT_LE(live, group.max_parallel) << base::ToString(id);
    ASSERT_EQ(unfinished, group.unfinished) << base::ToString(id);
    const auto under_way = static_cast<int64_t>(group.under_way.size());
    ASSERT_TRUE(group.waiting.empty() || under_way >= group.max_parallel) << base::ToString(id);
  }
}

// What live jobs hold is counted.
void HeldIsCounted(const State& state) {
  std::map<std::string, int64_t> held;
  for (const auto& [id, job] : state.live) {
    if (job->row.spec.resources.lease) continue;
    for (const Rank& rank : job->attempt->ranks) {
      const bool has_device = state.workers.at(rank.row.worker).holder == rank.row.key;
      held[job->row.user] += has_device ? rank.row.held_devices : 0;
    }
  }
  std::erase_if(held, [](const auto& entry) { return entry.second == 0; });
  ASSERT_EQ(held.size(), state.held.size());
  for (const auto& [user, of_user] : state.held) ASSERT_EQ(held[user], of_user.devices) << user;
}

// A coordinator that starts now lets the same jobs of each group go.
void GroupsAreWhatIsStored(const State& state, const State& restored) {
  ASSERT_EQ(restored.bounded_groups.size(), state.bounded_groups.size());
  for (const auto& [id, group] : state.bounded_groups)
    ASSERT_EQ(restored.bounded_groups.at(id).under_way, group.under_way) << base::ToString(id);
}

// It keeps the same jobs away from where they failed, as long.
void RetriesAreWhatIsStored(const SimCluster& cluster, const State& restored) {
  for (const auto& [id, job] : cluster.state().jobs) {
    const Retry& again = restored.jobs.at(id).retry;
    ASSERT_EQ(again.failures, job.retry.failures) << base::ToString(id);
    ASSERT_EQ(again.furthest, job.retry.furthest) << base::ToString(id);
    ASSERT_EQ(again.failed_on, job.retry.failed_on) << base::ToString(id);
    const bool pauses = job.retry.pause_until && *job.retry.pause_until > cluster.now().steady;
    if (!pauses || cluster.clock_jumped()) continue;
    ASSERT_EQ(again.pause_until, job.retry.pause_until) << base::ToString(id);
  }
}

// It has summed up the same, and its queue has the same order.
void SharesAreWhatIsStored(const SimCluster& cluster, const State& restored) {
  const State& state = cluster.state();
  if (!state.options.policy.half_life_us || cluster.clock_jumped()) return;
  if (restored.shares.at != state.shares.at) return;  // the next Tick sums up
  ASSERT_EQ(restored.shares.use, state.shares.use);
  // Until the next Tick; who else of its owner's jobs is lifted goes by it.
  const bool one_avoids_others = std::ranges::any_of(state.jobs, [&](const auto& entry) {
    return restored.jobs.at(entry.first).avoids != entry.second.avoids;
  });
  if (one_avoids_others) return;
  for (const auto& [id, job] : state.jobs) {
    if (job.status.state != job::JobState::kQueued) continue;
    ASSERT_EQ(restored.jobs.at(id).place().share, job.place().share) << base::ToString(id);
  }
}

// No device is promised twice; each is of the class of its lease.
void CalendarIsTrue(const State& state) {
  for (const auto& [worker, leases] : state.leased) {
    base::WallMicros end = 0;
    for (const auto& [start, id] : leases) {
      ASSERT_TRUE(state.leases.contains(id)) << worker;
      ASSERT_GE(start, end) << worker << " is leased twice at once";
      end = state.leases.at(id).row.end;
    }
  }
  for (const auto& [name, worker] : state.workers) {
    const Lease* lease = ActiveLeaseOf(state, name);
    const placement::ClassId id = state.free.entry(worker.device).device_class;
    ASSERT_EQ(state.free.pools()[id].device_class.lease, lease == nullptr ? 0 : lease->row.id)
        << name;
  }
}

// Whatever runs under a lease runs on its devices and is being stopped by its end. Whatever else is
// on them is being stopped when it begins.
void LeasesAreKept(const SimCluster& cluster) {
  for (const auto& [id, job] : cluster.state().live) {
    const bool is_stopped = job->attempt->row.stop.has_value();
    const Lease* own = FindLease(cluster.state(), job->lease);
    ASSERT_EQ(own != nullptr, job->row.spec.resources.lease.has_value()) << base::ToString(id);
    ASSERT_TRUE(own == nullptr || is_stopped || cluster.now().wall < own->row.end)
        << base::ToString(id) << " outlives " << LeaseText(own->row);
    for (const Rank& rank : job->attempt->ranks) {
      const Lease* lease = ActiveLeaseOf(cluster.state(), rank.row.worker);
      // By the clock the lease is to come, which its devices are kept for.
      const bool was_set_back = own != nullptr && !own->active && cluster.clock_jumped();
      ASSERT_TRUE(own == nullptr || is_stopped || lease == own || was_set_back)
          << Short(rank.row.key);
      const bool is_in_the_way = lease != nullptr && lease != own && !is_stopped;
      ASSERT_FALSE(is_in_the_way) << Short(rank.row.key) << " is in the way of "
                                  << LeaseText(lease->row);
    }
  }
}

// What would be restored is what is in memory.
void MemoryIsWhatIsStored(const SimCluster& cluster) {
  StoredState stored = cluster.stepped().LoadState();
  for (UnfinishedJob& job : stored.jobs) job.ended.clear();  // RetriesAreWhatIsStored
  StoredState in_memory = stored;
  in_memory.jobs.clear();
  in_memory.acks.clear();
  in_memory.drains.clear();
  for (const auto& [target, drain] : cluster.state().drains) in_memory.drains.push_back(drain);
  in_memory.faults.clear();
  for (const auto& [worker, faults] : cluster.state().faults) {
    for (const auto& [xid, fault] : faults) in_memory.faults.push_back(fault);
  }
  in_memory.slow.clear();
  for (const auto& [worker, slow] : cluster.state().slow) in_memory.slow.push_back(slow);
  in_memory.leases.clear();
  for (const auto& [id, lease] : cluster.state().leases) in_memory.leases.push_back(lease.row);
  for (const auto& [id, job] : cluster.state().jobs) {
    UnfinishedJob& unfinished =
        in_memory.jobs.emplace_back(UnfinishedJob{job.row, job.status, std::nullopt, {}});
    if (!job.attempt) continue;
    unfinished.attempt = job.attempt->row;
    for (const Rank& rank : job.attempt->ranks) {
      unfinished.ranks.push_back(rank.row);
      if (rank.sequence > 0) in_memory.acks[rank.row.key] = rank.sequence;
    }
  }
  ASSERT_EQ(Describe(in_memory), Describe(stored));
}

void NoJobIsLost(const SimCluster& cluster) {
  for (const base::JobId id : cluster.accepted()) {
    ASSERT_TRUE(cluster.ledger().jobs().contains(id)) << base::ToString(id);
    const auto stored = cluster.stepped().jobs().find(id);
    ASSERT_TRUE(stored != cluster.stepped().jobs().end()) << base::ToString(id);
    const bool is_finished = stored->second.status.state == job::JobState::kFinished;
    ASSERT_EQ(is_finished, FindJob(cluster.state(), id) == nullptr) << base::ToString(id);
    ASSERT_EQ(is_finished, stored->second.status.end.has_value()) << base::ToString(id);
  }
}

// However often it was asked for.
void EachRequestIsOneSubmission(const SimCluster& cluster) {
  std::map<std::string, int64_t> jobs;
  for (const auto& [id, job] : cluster.ledger().jobs()) ++jobs[job.row.request_id];
  for (const auto& [request, count] : jobs)
    ASSERT_LE(count, cluster.requests().at(request)) << request << " is doubled";
}

void PointsAreStoredOnce(const SimCluster& cluster) {
  for (const auto& [key, points] : cluster.ledger().points()) {
    if (cluster.HasLost(key)) continue;
    int64_t losses = 0;
    for (const job::MetricPoint& point : points) {
      if (point.name != "loss") continue;
      ASSERT_EQ(point.step, losses++) << Short(key);
    }
  }
}

// Each trial that failed halves the micro batch. Each other attempt after the first is counted. The
// exceptions follow one that a worker could not start, or that gave way to a lease. The global
// batch stays.
void MicroBatchesAreHalved(const JobRow& row, const JobStatus& status, const Ledger& ledger) {
  const auto failed_trials = std::ranges::count_if(ledger.attempts(), [&](const auto& entry) {
    return entry.second.job == row.id && entry.second.trial == Trial::kFailed;
  });
  const auto not_started = std::ranges::count_if(ledger.attempts(), [&](const auto& entry) {
    const AttemptRow& attempt = entry.second;
    return attempt.job == row.id && attempt.attempt < status.attempt && attempt.end &&
           (attempt.end->outcome == job::Outcome::kLaunchFailed ||
            attempt.end->outcome == job::Outcome::kPreempted);
  });
  ASSERT_LE(status.attempt, 1 + status.restarts + failed_trials + not_started)
      << base::ToString(row.id);
  if (row.auto_micro_batch == 0) return;
  ASSERT_EQ(row.auto_micro_batch, SimCluster::kAutoMicroBatch);
  const int64_t micro_batch = *row.spec.train.micro_batch_size;
  const int64_t halvings = std::max<int64_t>(0, failed_trials - 1);
  const bool is_due = status.cancel_requested &&
                      micro_batch == SimCluster::kAutoMicroBatch >> halvings;  // and never tried
  ASSERT_TRUE(is_due ||
              micro_batch == std::max<int64_t>(1, SimCluster::kAutoMicroBatch >> failed_trials))
      << base::ToString(row.id);
  ASSERT_EQ(job::PlanBatch(row.spec)->global, SimCluster::kAutoMicroBatch * row.spec.devices)
      << base::ToString(row.id);
}

// A job that follows another's success never started without it.
void FollowersAreTrue(const JobRow& row, const JobStatus& status, const Ledger& ledger) {
  for (const auto& [name, after] : row.spec.resources.after) {
    const auto followed = ledger.jobs().find(*base::ParseJobId(name));
    if (after == job::After::kAny || followed == ledger.jobs().end()) continue;
    if (followed->second.status.end->outcome == job::Outcome::kSucceeded) continue;
    ASSERT_EQ(status.attempt, 0) << base::ToString(row.id) << " started after " << name;
    ASSERT_TRUE(status.end->outcome == job::Outcome::kCancelled ||
                status.end->outcome == job::Outcome::kLeaseEnded)
        << base::ToString(row.id);
  }
}

// SUCCEEDED is said only of work that was done, and restarts keep to their bound.
void OutcomesAreTrue(const SimCluster& cluster) {
  for (const auto& [id, job] : cluster.ledger().jobs()) {
    FollowersAreTrue(job.row, job.status, cluster.ledger());
    ASSERT_LE(job.status.restarts, job.row.spec.resources.max_restarts) << base::ToString(id);
    if (cluster.losses() == 0) MicroBatchesAreHalved(job.row, job.status, cluster.ledger());
    ASSERT_EQ(job.status.attempt > 0, job.status.started_at > 0) << base::ToString(id);
    ASSERT_LE(job.status.started_at, job.status.ended_at) << base::ToString(id);
    ASSERT_LE(job.status.ended_at, cluster.latest_wall()) << base::ToString(id);
    if (job.status.end->outcome != job::Outcome::kSucceeded) continue;
    const auto ranks = cluster.succeeded_ranks().find({id, job.status.attempt});
    ASSERT_TRUE(ranks != cluster.succeeded_ranks().end()) << base::ToString(id);
    ASSERT_EQ(static_cast<int64_t>(ranks->second.size()), job.row.spec.devices)
        << base::ToString(id);
  }
}

}  // namespace

void Invariants::Check(const SimCluster& cluster) {
  const int64_t steps = cluster.size() == Size::kSmall ? 1 : kStepsPerLargeCheck;
  if (++steps_ % steps == 0 && !cluster.is_stale()) CheckState(cluster);
}

void Invariants::CheckState(const SimCluster& cluster) {
  GangsAreWhole(cluster.state(), cluster.now());
  ExclusiveHostsAreTheirs(cluster.state());
  GroupsKeepTheirBounds(cluster.state());
  HeldIsCounted(cluster.state());
  if (!IsClosing(cluster.state(), cluster.now()) && !cluster.clock_is_news())
    NobodyInFrontCouldStart(cluster.state());
  if (++checks_ % kChecksPerRestore == 0) CheckWhatIsStored(cluster);
  CalendarIsTrue(cluster.state());
  if (cluster.has_ticked()) {
    LeasesAreKept(cluster);
    WhoStarvesGoesFirst(cluster.state(), cluster.stepped());
    if (!cluster.leases_are_news()) WorkersKnowTheirDeadlines(cluster);
    kept_logs_.Check(cluster);
  }
  WorkersHaveTheirRanks(cluster);
  WorkersHaveNoOthers(cluster);
  FreeDevicesAreFree(cluster);
  NoJobIsLost(cluster);
  EachRequestIsOneSubmission(cluster);
  TerminalStatesStay(cluster);
}

void Invariants::CheckWhatIsStored(const SimCluster& cluster) {
  const State& state = cluster.state();
  const State restored = Restore(state.options, cluster.stepped().LoadState(), cluster.now());
  GroupsAreWhatIsStored(state, restored);
  SharesAreWhatIsStored(cluster, restored);
  RetriesAreWhatIsStored(cluster, restored);
  if (!cluster.clock_is_news()) ReasonsAreTrue(state, cluster.now());
  MemoryIsWhatIsStored(cluster);
}

void Invariants::CheckEnd(const SimCluster& cluster) {
  CheckState(cluster);
  PointsAreStoredOnce(cluster);
  OutcomesAreTrue(cluster);
  for (const auto& [name, worker] : cluster.state().workers) EXPECT_FALSE(worker.holder) << name;
}

// Whose end the disk has lost may end anew, before anybody looks; all others stay.
void Invariants::TerminalStatesStay(const SimCluster& cluster) {
  for (; losses_ < cluster.kept_ends().size(); ++losses_) {
    const std::set<base::JobId>& kept = cluster.kept_ends()[losses_];
    std::erase_if(ends_, [&](const auto& entry) { return !kept.contains(entry.first); });
  }
  for (const auto& [id, job] : cluster.ledger().jobs()) {
    if (job.status.state != job::JobState::kFinished) {
      ASSERT_FALSE(ends_.contains(id)) << base::ToString(id) << " came back";
      continue;
    }
    const std::string end =
        std::string(job::Name(job.status.end->outcome)) + ": " + job.status.end->message;
    ASSERT_EQ(ends_.try_emplace(id, end).first->second, end) << base::ToString(id);
  }
}

}  // namespace trainctl::core
