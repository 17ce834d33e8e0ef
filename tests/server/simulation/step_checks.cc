// What must hold of what a Step does, as it does it: invariants.h asks after the state it leaves.
#include <gtest/gtest.h>

#include <algorithm>

#include "server/core/leases.h"
#include "server/core/quota.h"
#include "tests/server/describe.h"
#include "tests/server/simulation/first_in_line.h"
#include "tests/server/simulation/sim_cluster.h"
#include "tests/server/simulation/site_facts.h"
#include "tests/server/simulation/what_is_decided.h"

namespace trainctl::core {

void SimCluster::CheckStep(const Actions& actions) {
  std::set<base::JobId> placed;
  for (const Effect& effect : actions.effects) {
    const auto* start = std::get_if<StartRank>(&effect);
    const bool is_placed = start != nullptr && !stepped_.ranks().contains(start->key);
    if (is_placed && start->plan.job.exclusive) AnExclusiveJobIsAlone(*start);
    if (is_placed) ItsDeviceIsNotDrained(*start);
    if (is_placed) ItsDeviceIsItsLeases(*start);
    if (is_placed) ItsOwnerHasTheQuota(*start);
    if (is_placed) WhatItFollowsHasEnded(*start);
    if (is_placed) ItsDeviceMeetsItsConstraints(*start);
    if (is_placed) placed.insert(start->key.job);
  }
  const int64_t preempted = preempted_;
  for (const Persist& row : actions.persist) {
    if (const auto* attempt = std::get_if<AttemptRow>(&row)) {
      ANewAttemptHasNoPast(*attempt);
      WhoGivesWayAllowsIt(*attempt);
    }
    if (const auto* rank = std::get_if<RankRow>(&row)) {
      ItsDeviceIsSaidToBeFree(*rank);
      WhatHasEndedIsGone(*rank);
    }
    if (const auto* lease = std::get_if<LeaseRow>(&row))
      lease_ends_[lease->name] = std::max(lease_ends_[lease->name], lease->end);
    if (const auto* job = std::get_if<JobRow>(&row)) ANewJobHasNoPast(*job);
  }
  WhatIsDecidedStays(stepped_, actions.persist);
  // Whoever gives way ends sooner than was known when others were placed: in a pass before.
  if (preempted_ == preempted) TheFirstInLineIsNotDelayed(state(), now(), placed);
}

// Its number is none of a job that the disk lost, as far as workers and logs tell.
void SimCluster::ANewJobHasNoPast(const JobRow& row) {
  ASSERT_FALSE(HasLogs(row.id)) << base::ToString(row.id) << " is new, and has logs";
  for (const SimWorker& worker : workers_) {
    if (!worker.is_welcome()) continue;
    for (const auto& [key, rank] : worker.ranks())
      ASSERT_NE(key.job, row.id) << worker.name() << " has " << Short(key) << ", and it is new";
  }
}

// Nor is an attempt's number: what a rank of that one still says would be taken for its own.
void SimCluster::ANewAttemptHasNoPast(const AttemptRow& row) {
  if (stepped_.attempts().contains({row.job, row.attempt})) return;
  for (const SimWorker& worker : workers_) {
    if (!worker.is_welcome()) continue;
    for (const auto& [key, rank] : worker.ranks())
      ASSERT_FALSE(key.job == row.job && key.attempt == row.attempt)
          << worker.name() << " has " << Short(key) << ", and that attempt is new";
  }
}

// By its worker's last word, on the stream that is there.
void SimCluster::ItsDeviceIsSaidToBeFree(const RankRow& row) {
  if (stepped_.ranks().contains(row.key)) return;
  ASSERT_TRUE(device_words_.IsFree(row.worker))
      << Short(row.key) << " is placed on " << row.worker << ", which is not said to be free";
}

// No process of a rank is there whose end is known.
void SimCluster::WhatHasEndedIsGone(const RankRow& row) {
  if (row.proof == Proof::kNone) return;
  const auto before = stepped_.ranks().find(row.key);
  if (before != stepped_.ranks().end() && before->second.proof != Proof::kNone) return;
  const SimRank* rank = Named(row.worker).Running();
  ASSERT_FALSE(rank != nullptr && rank->key == row.key)
      << Short(row.key) << " is taken as ended, and runs on " << row.worker;
}

// Of an attempt that is being stopped, or one that nobody wants any more.
void SimCluster::WhoIsStoppedIsToEnd(const StopRank& stop) {
  const RankRow* row = FindLiveRow(state(), stop.key);
  strays_ += row == nullptr;
  const bool goes_on = row != nullptr && row->worker == stop.worker && row->proof == Proof::kNone &&
                       !state().jobs.at(stop.key.job).attempt->row.stop;
  ASSERT_FALSE(goes_on) << Short(stop.key) << " is stopped, and its attempt goes on";
}

// Nor beside an attempt before, but for one that the disk lost: nobody knows of it before its
// worker says so, and then it is being stopped.
void SimCluster::NoJobRunsTwice(const StartRank& start) {
  for (SimWorker& worker : workers_) {
    const SimRank* other = worker.Running();
    const bool is_older = other != nullptr && other->key.job == start.key.job &&
                          other->key.attempt < start.key.attempt &&
                          !lost_attempts_.contains({other->key.job, other->key.attempt});
    ASSERT_FALSE(is_older) << Short(start.key) << " starts while " << Short(other->key)
                           << " still runs";
  }
}

// Before its worker hears of it.
void SimCluster::WhatIsStartedIsStored(const StartRank& start) {
  ASSERT_TRUE(ledger().ranks().contains(start.key)) << Short(start.key);
}

// An attempt that another job's is stopped for: its job allows it and is of lower priority, and it
// has had its time. The other waits for devices.
void SimCluster::WhoGivesWayAllowsIt(const AttemptRow& attempt) {
  static const std::string kToWhom = "gives way to ";
  const bool is_new = attempt.stop && !stepped_.attempts().at({attempt.job, attempt.attempt}).stop;
  if (!is_new || !attempt.stop->message.starts_with(kToWhom)) return;
  ASSERT_EQ(attempt.stop->outcome, job::Outcome::kPreempted);
  const std::string text = attempt.stop->message.substr(kToWhom.size());
  const Job* taker = FindJob(state(), *base::ParseJobId(text.substr(0, text.find(' '))));
  const JobRow& giver = stepped_.jobs().at(attempt.job).row;
  ASSERT_NE(taker, nullptr) << text;
  ASSERT_EQ(taker->lane, Lane::kQueue) << text;
  ASSERT_TRUE(giver.spec.resources.preemptible) << base::ToString(giver.id);
  ASSERT_GT(job::PriorityOf(taker->row.spec), job::PriorityOf(giver.spec)) << text;
  ASSERT_TRUE(clock_jumped_ ||
              now().wall >= attempt.placed_at + *state().options.policy.preempt_after_us)
      << text;
  ++preempted_;
}

// No process of another job is on its hosts, but where an operator has removed a worker.
void SimCluster::AnExclusiveJobIsAlone(const StartRank& start) {
  const std::string& host = state().workers.at(start.worker).row.host;
  for (SimWorker& worker : workers_) {
    const SimRank* other = worker.Running();
    const auto known = state().workers.find(worker.name());
    if (other == nullptr || known == state().workers.end() || known->second.row.host != host)
      continue;
    ASSERT_EQ(other->key.job, start.key.job)
        << Short(start.key) << " starts on " << host << ", where " << Short(other->key) << " runs";
  }
}

// As it was to. What this Step ended is stored with it.
void SimCluster::WhatItFollowsHasEnded(const StartRank& start) {
  for (const auto& [name, after] : start.plan.job.resources.after) {
    const base::JobId id = *base::ParseJobId(name);
    ASSERT_EQ(FindJob(state(), id), nullptr) << Short(start.key) << " starts before " << name;
    const auto stored = stepped_.jobs().find(id);
    const bool is_over = stored != stepped_.jobs().end() &&  // and not removed
                         stored->second.status.state == job::JobState::kFinished;
    ASSERT_TRUE(!is_over || after == job::After::kAny ||
                stored->second.status.end->outcome == job::Outcome::kSucceeded)
        << Short(start.key) << " starts after the failure of " << name;
  }
}

void SimCluster::ItsDeviceIsNotDrained(const StartRank& start) {
  for (const auto& [target, drain] : state().drains) {
    ASSERT_NE(target, start.worker) << Short(start.key);
    ASSERT_NE(target, state().workers.at(start.worker).row.host) << Short(start.key);
  }
  for (const FaultRow* fault : FaultsOf(state(), start.worker))
    ASSERT_FALSE(KeepsOut(*fault)) << Short(start.key) << " XID " << fault->fault.xid;
}

// While a lease has a device, nothing but its jobs is placed there; and they nowhere else.
void SimCluster::ItsDeviceIsItsLeases(const StartRank& start) {
  const Lease* has = ActiveLeaseOf(state(), start.worker);
  const std::optional<std::string>& wants = start.plan.job.resources.lease;
  ASSERT_EQ(has == nullptr ? "" : has->row.name, wants.value_or("")) << Short(start.key);
}

// No process of a job is there behind its lease's end, though nobody could tell its worker. Nor
// does it hear that the lease was deleted.
void SimCluster::NothingOutlivesItsLease() {
  constexpr base::WallMicros kSecond = 1'000'000;
  if (clock_jumped_ || losses_ > 0) return;
  for (SimWorker& worker : workers_) {
    const SimRank* rank = worker.Running();
    if (rank == nullptr || rank->lease.empty()) continue;
    ASSERT_LE(now().wall, lease_ends_[rank->lease] + kSecond)
        << Short(rank->key) << " runs on " << worker.name() << " behind " << rank->lease;
  }
}

// Whoever had more under another policy gets none.
void SimCluster::ItsOwnerHasTheQuota(const StartRank& start) {
  if (start.plan.job.resources.lease) return;
  const std::string& user = state().jobs.at(start.key.job).row.user;
  const auto most = state().options.policy.Of(user).max_running_devices;
  ASSERT_TRUE(!most || HeldBy(state(), user) <= *most)
      << Short(start.key) << " starts, and " << user << " has " << HeldBy(state(), user);
}

// What a job has saved stays until it has ended, and it is stored who removes it.
void SimCluster::WhatIsRemovedIsOver(const job::RemovalQuestion& question) {
  const base::JobId id = *base::ParseJobId(question.job);
  ASSERT_EQ(FindJob(state(), id), nullptr)
      << question.path << " is removed, and " << question.job << " has not ended";
  const bool is_stored = std::ranges::any_of(kept().audit, [&](const store::AuditRow& row) {
    return row.action == "rm-outputs" && row.subject == question.job + " " + question.path;
  });
  ASSERT_TRUE(question.look_only || is_stored) << question.path << ": who removes it is not stored";
}

// The labels that the coordinator knows are those of the worker's last Hello.
void SimCluster::ItsDeviceMeetsItsConstraints(const StartRank& start) {
  std::string reason;
  const job::SiteDevice device = SiteDeviceOf(state().workers.at(start.worker).row);
  ASSERT_TRUE(job::MeetsConstraints(start.plan.job, device, &reason))
      << Short(start.key) << ": " << reason;
}

}  // namespace trainctl::core
