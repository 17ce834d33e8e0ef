// Tick: what must end or be said because time has passed.
#include <algorithm>
#include <string>
#include <utility>

#include "server/core/fair_share.h"
#include "server/core/faults.h"
#include "server/core/gang.h"
#include "server/core/handlers.h"
#include "server/core/hang.h"
#include "server/core/last_moment.h"
#include "server/core/lease_events.h"
#include "server/core/loan.h"
#include "server/core/preempt.h"
#include "server/core/retry.h"
#include "server/core/run_length.h"

namespace trainctl::core {
namespace {

constexpr int64_t kSecond = 1'000'000;

bool SomeAreAway(const State& state) {
  return std::ranges::any_of(
      state.devices, [](const Worker* worker) { return worker != nullptr && !worker->connected; });
}

void LookForLostWorkers(Turn& turn) {
  for (auto& [name, worker] : turn.state.workers) {
    if (worker.connected || worker.lost ||
        turn.now.steady - worker.away_since < turn.state.options.lost_after_us)
      continue;
    worker.lost = true;
    turn.placement_may_change = true;  // nobody keeps a quota for its device any more
    if (!worker.holder) continue;
    Say(turn, worker.holder->job, "worker " + name + " is LOST; its rank may go on without it");
    turn.changed.insert(worker.holder->job);
  }
}

void LookAtTimeLimit(Turn& turn, Job& job) {
  const std::optional<int64_t> limit = job.row.spec.resources.time_limit_seconds;
  if (!limit || (turn.now.steady - job.attempt->placed_steady) / kSecond < *limit) return;
  StopGang(turn, job,
           {job::Outcome::kTimeout, TimeLimitText(*limit), std::nullopt,
            turn.state.options.stop_grace_us});
}

// The rank whose worker has been away for longer than the grace, or null.
const Rank* RankOutOfReach(Turn& turn, const LiveAttempt& attempt) {
  for (const Rank& rank : attempt.ranks) {
    const Worker& worker = WorkerOf(turn.state, rank);
    const bool is_away = !worker.connected &&
                         turn.now.steady - worker.away_since >= turn.state.options.worker_grace_us;
    if (rank.row.proof == Proof::kNone && is_away) return &rank;
  }
  return nullptr;
}

void LookForLostRanks(Turn& turn, Job& job) {
  const Rank* rank = RankOutOfReach(turn, *job.attempt);
  if (rank == nullptr) return;
  const std::string grace = std::to_string(turn.state.options.worker_grace_us / kSecond);
  StopGang(turn, job,
           {job::Outcome::kNodeLost,
            "worker " + rank->row.worker + " of rank " + std::to_string(rank->row.key.rank) +
                " has been away for " + grace + " s",
            rank->row.key.rank, turn.state.options.failure_grace_us});
}

// Silence of a rank whose worker is away says nothing.
bool AllCanBeHeard(Turn& turn, const LiveAttempt& attempt) {
  return std::all_of(attempt.ranks.begin(), attempt.ranks.end(), [&](const Rank& rank) {
    return rank.row.proof != Proof::kNone || WorkerOf(turn.state, rank).connected;
  });
}

void LookForHang(Turn& turn, Job& job) {
  const int64_t timeout_seconds = job.row.spec.resources.step_timeout_seconds;
  const bool is_late =
      (turn.now.steady - job.attempt->progress_steady) / kSecond >= timeout_seconds;
  if (job.status.state == job::JobState::kStopping || !is_late ||
      !AllCanBeHeard(turn, *job.attempt))
    return;
  const Hang hang = FindHang(*job.attempt, timeout_seconds);
  StopGang(
      turn, job,
      {job::Outcome::kHang, hang.message, hang.ranks.front(), turn.state.options.failure_grace_us});
}

}  // namespace

void Handle(Turn& turn, const Tick&) {
  const bool some_are_away = SomeAreAway(turn.state);
  if (some_are_away) LookForLostWorkers(turn);
  EndSuspicion(turn);
  if (RenewShares(turn.state, turn.now)) turn.placement_may_change = true;
  if (!std::exchange(turn.state.resting, {}).empty()) turn.placement_may_change = true;
  if (turn.state.look_again) turn.placement_may_change = true;
  if (SomebodyMayGiveWay(turn.state, turn.now)) turn.placement_may_change = true;
  KeepLeases(turn);
  KeepRetries(turn);
  KeepLoan(turn);
  for (auto next = turn.state.live.begin(); next != turn.state.live.end();) {
    Job& job = *next++->second;
    LookAtTimeLimit(turn, job);
    if (some_are_away) LookForLostRanks(turn, job);
    LookForHang(turn, job);
    RenewDeadline(turn, job);
    RenewExpectedEnd(turn, job);
    EndAttemptIfSettled(turn, job);
  }
}

}  // namespace trainctl::core
