#include "server/core/loan.h"

#include "common/base/size.h"
#include "server/core/gang.h"
#include "server/core/leases.h"

namespace trainctl::core {
namespace {

constexpr int64_t kSignalOfEngines = 15;  // SIGTERM
constexpr int64_t kLoanSecond = 1'000'000;

std::string LoanText(const State& state) {
  return "this site's devices are lent to it until " + UtcText(*state.options.lent_until);
}

// As far as is known.
bool EndedWithItsHost(const RankRow& rank) {
  if (rank.outcome && rank.outcome->outcome != job::Outcome::kCancelled) return false;
  switch (rank.proof) {
    case Proof::kNone:
    case Proof::kHostRestarted:
    case Proof::kFenced:
    case Proof::kRecordGone: return true;
    case Proof::kExited: return rank.outcome || rank.exit.signal == kSignalOfEngines;
    case Proof::kLaunchFailed:
    case Proof::kWorkerUnfit:
    case Proof::kNeverStarted: return false;
  }
  return false;
}

}  // namespace

bool IsClosing(const State& state, const Now& now) {
  const auto& until = state.options.lent_until;
  return until && now.wall >= *until - state.options.lease_grace_us;
}

void KeepLoan(Turn& turn) {
  if (!IsClosing(turn.state, turn.now)) return;
  const int64_t grace = turn.state.options.lease_grace_us * 5 / 6;
  for (const auto& [id, job] : turn.state.live)
    StopGang(turn, *job, {job::Outcome::kPreempted, LoanText(turn.state), std::nullopt, grace});
}

void TellOfLoan(Turn& turn, const Job& job) {
  const auto& until = turn.state.options.lent_until;
  const std::optional<int64_t> limit = job.row.spec.resources.time_limit_seconds;
  if (!until || !limit || turn.now.wall + *limit * kLoanSecond <= *until) return;
  const bool saves = job.row.spec.checkpoint.every_steps.has_value();
  Say(turn, job.row.id,
      LoanText(turn.state) + ", and its time limit is " + base::FormatDuration(*limit) +
          ": it is stopped before, and " +
          (saves ? "goes on from its checkpoint" : "begins anew, since it keeps no checkpoints,") +
          " with the next ones");
}

std::string LoanReason(const State& state) { return LoanText(state) + ": waits for the next ones"; }

void JudgeAsLent(const State& state, const LiveAttempt& attempt, job::AttemptEnd* end) {
  if (!state.options.lent_until) return;
  const bool is_decided = attempt.row.stop && attempt.row.stop->outcome != job::Outcome::kFailed;
  const bool is_its_hosts =
      end->outcome == job::Outcome::kNodeLost ||
      (!is_decided && end->rank && EndedWithItsHost(attempt.ranks[*end->rank].row));
  if (is_its_hosts) end->outcome = job::Outcome::kPreempted;
}

}  // namespace trainctl::core
