#include "server/core/last_moment.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "server/core/ending.h"
#include "server/core/gang.h"
#include "server/core/leases.h"

namespace trainctl::core {
namespace {

constexpr int64_t kLimitSlackUs = 5'000'000;  // behind a time limit: the coordinator goes first
constexpr int64_t kSameUs = 2'000'000;        // clocks of one host drift by less

struct LastMoment {
  base::SteadyMicros at = 0;
  int64_t grace_us = 0;
  job::Outcome outcome = job::Outcome::kLeaseEnded;
  const LeaseRow* lease = nullptr;  // whose end or start it is
  const Worker* worker = nullptr;   // of that start
};

// A sixth of the grace behind the coordinator's word, so that what is killed is gone as early.
LastMoment OfLease(const State& state, base::WallMicros at, const Now& now) {
  const int64_t grace = state.options.lease_grace_us;
  return {.at = now.steady + (at - now.wall) - grace * 5 / 6, .grace_us = grace * 4 / 6};
}

// The first lease of another on the worker's device that the job's own does not end before.
const LeaseRow* NextOfOthers(const State& state, const Lease* own, const Worker& worker) {
  const auto leases = state.leased.find(worker.row.name);
  if (leases == state.leased.end()) return nullptr;
  for (const auto& [start, id] : leases->second) {
    const bool is_in_order = own != nullptr && (own->row.id == id || own->row.end <= start);
    if (!is_in_order) return &state.leases.at(id).row;
  }
  return nullptr;
}

std::optional<LastMoment> LastMomentOf(const State& state, const Job& job, const Now& now) {
  std::optional<LastMoment> first;
  const auto consider = [&](LastMoment moment) {
    if (!first || moment.at < first->at) first = moment;
  };
  const Lease* own = job.lease == 0 ? nullptr : FindLease(state, job.lease);
  if (own != nullptr) {
    LastMoment end = OfLease(state, own->row.end, now);
    end.lease = &own->row;
    consider(end);
  }
  if (!state.leased.empty()) {
    for (const Rank& rank : job.attempt->ranks) {
      const Worker& worker = state.workers.at(rank.row.worker);
      const LeaseRow* next = NextOfOthers(state, own, worker);
      if (next == nullptr) continue;
      LastMoment start = OfLease(state, next->start, now);
      start.outcome = job::Outcome::kPreempted;
      start.lease = next;
      start.worker = &worker;
      consider(start);
    }
  }
  if (const auto& limit = job.row.spec.resources.time_limit_seconds) {
    consider({.at = job.attempt->placed_steady + *limit * 1'000'000 + kLimitSlackUs,
              .grace_us = state.options.stop_grace_us,
              .outcome = job::Outcome::kTimeout});
  }
  return first;
}

std::string Why(const Job& job, const LastMoment& moment) {
  if (moment.lease == nullptr) return TimeLimitText(*job.row.spec.resources.time_limit_seconds);
  if (moment.worker == nullptr) return LeaseEndText(*moment.lease);
  return LeaseStartText(*moment.lease, moment.worker->row.name);
}

job::Deadline ToDeadline(const Job& job, const LastMoment& moment, const Now& now) {
  return {std::max<int64_t>(0, moment.at - now.steady), moment.grace_us, moment.outcome,
          Why(job, moment)};
}

bool IsSame(const std::optional<base::SteadyMicros>& told,
            const std::optional<LastMoment>& moment) {
  if (!told || !moment) return !told && !moment;
  return std::abs(*told - moment->at) < kSameUs;
}

void Tell(Turn& turn, const Job& job, const Rank& rank, const std::optional<LastMoment>& moment) {
  KeepDeadline keep{rank.row.worker, rank.row.key, std::nullopt};
  if (moment) keep.deadline = ToDeadline(job, *moment, turn.now);
  turn.Perform(std::move(keep));
}

bool RunsThere(const State& state, const Rank& rank) {
  return rank.row.proof == Proof::kNone && state.workers.at(rank.row.worker).connected;
}

// A worker that could not be told of it kept the end that the lease had before.
bool HasMoreTime(const State& state, const Job& job, const Now& now) {
  const Lease* lease = FindLease(state, job.lease);
  return lease != nullptr && IsOpen(*lease) &&
         now.wall < lease->row.end - state.options.lease_grace_us;
}

bool RenewIfOther(Turn& turn, Job& job) {
  LiveAttempt& attempt = *job.attempt;
  const std::optional<LastMoment> moment = LastMomentOf(turn.state, job, turn.now);
  if (IsSame(attempt.told_deadline, moment)) return false;
  attempt.told_deadline = moment ? std::optional(moment->at) : std::nullopt;
  for (const Rank& rank : attempt.ranks) {
    if (RunsThere(turn.state, rank)) Tell(turn, job, rank, moment);
  }
  return true;
}

}  // namespace

std::optional<job::Deadline> DeadlineOf(const State& state, const Job& job, const Now& now) {
  const std::optional<LastMoment> moment = LastMomentOf(state, job, now);
  return moment ? std::optional(ToDeadline(job, *moment, now)) : std::nullopt;
}

std::optional<job::Deadline> FirstDeadline(Turn& turn, Job& job) {
  const std::optional<LastMoment> moment = LastMomentOf(turn.state, job, turn.now);
  if (!moment) return std::nullopt;
  job.attempt->told_deadline = moment->at;
  return ToDeadline(job, *moment, turn.now);
}

void RenewDeadline(Turn& turn, Job& job) {
  if (!job.attempt->row.stop) RenewIfOther(turn, job);
}

void TellDeadline(Turn& turn, Job& job, const Rank& rank) {
  if (RenewIfOther(turn, job)) return;  // it was among those that were told
  Tell(turn, job, rank, LastMomentOf(turn.state, job, turn.now));
}

std::string TimeLimitText(int64_t seconds) {
  return "the time limit of " + std::to_string(seconds) + " s is over";
}

void TakeDeadline(Turn& turn, Job& job, const Rank& rank) {
  if (!rank.row.exit.deadline || HasSucceeded(rank.row)) return;
  std::optional<Stop>& stop = job.attempt->row.stop;
  // The rank's own word of its end came before: it was told to stop, and nobody here had.
  const bool is_undecided = stop && stop->outcome == job::Outcome::kFailed &&
                            stop->rank == rank.row.key.rank && rank.row.outcome &&
                            rank.row.outcome->outcome == job::Outcome::kCancelled;
  if (stop && !is_undecided) return;
  Stop decided{*rank.row.exit.deadline, rank.row.exit.deadline_message, std::nullopt,
               turn.state.options.stop_grace_us};
  if (decided.outcome == job::Outcome::kLeaseEnded && HasMoreTime(turn.state, job, turn.now)) {
    decided.outcome = job::Outcome::kPreempted;
    decided.message = rank.row.worker + " had not heard that the lease goes on";
  }
  stop.reset();
  StopGang(turn, job, std::move(decided));
}

}  // namespace trainctl::core
