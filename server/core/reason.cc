#include <algorithm>

#include "common/base/size.h"
#include "server/core/gang.h"
#include "server/core/run_length.h"
#include "server/core/state.h"
#include "server/core/waiting.h"

namespace trainctl::core {
namespace {

std::string RankNames(const std::vector<const RankRow*>& ranks) {
  std::string text;
  for (const RankRow* rank : ranks)
    text += (text.empty() ? "" : ", ") + ("rank " + std::to_string(rank->key.rank)) + " on " +
            rank->worker;
  return text;
}

using Ranks = std::vector<const RankRow*>;

Ranks InPhase(const LiveAttempt& attempt, job::RunPhase phase) {
  Ranks ranks;
  for (const Rank& rank : attempt.ranks) {
    if (rank.row.phase.phase == phase) ranks.push_back(&rank.row);
  }
  return ranks;
}

// How far the slowest of them is.
std::string PhaseText(const Ranks& ranks) {
  return job::Describe((*std::ranges::min_element(ranks, {}, [](const RankRow* rank) {
                         return rank->phase.done;
                       }))->phase);
}

// "trial of micro batch 8", or "trial 1/2 of micro batch 8".
std::string TrialText(const LiveAttempt& attempt, const std::string& trial) {
  return trial + " of micro batch " + std::to_string(attempt.row.micro_batch_size);
}

// What the ranks least far in start-up do.
std::string StartReason(const LiveAttempt& attempt) {
  using job::RunPhase;
  const Ranks placed = InPhase(attempt, RunPhase::kPlaced);
  if (placed.size() == attempt.ranks.size()) return "placed; its ranks are being started";
  if (!placed.empty()) return "waits for " + RankNames(placed);
  if (!InPhase(attempt, RunPhase::kStarted).empty()) return "its ranks have started";
  const Ranks tokenizing = InPhase(attempt, RunPhase::kTokenizing);
  if (!tokenizing.empty()) return PhaseText(tokenizing);
  const Ranks joining = InPhase(attempt, RunPhase::kJoining);
  if (joining.size() == attempt.ranks.size()) return "joining";
  if (!joining.empty()) return "joining: waits for " + RankNames(joining);
  const Ranks trial = InPhase(attempt, RunPhase::kTrial);
  if (!trial.empty()) return TrialText(attempt, PhaseText(trial));
  const Ranks loading = InPhase(attempt, RunPhase::kLoading);
  return loading.empty() ? "first step" : PhaseText(loading);
}

// "worker a/0 has been away for 20s: its rank may go on".
std::string AwayText(const State& state, const LiveAttempt& attempt, const Now& now) {
  for (const Rank& rank : attempt.ranks) {
    const Worker& worker = state.workers.at(rank.row.worker);
    if (worker.connected || rank.row.proof != Proof::kNone) continue;
    return "worker " + rank.row.worker + " has been away for " +
           base::FormatDuration((now.steady - worker.away_since) / 1'000'000) +
           ": its rank may go on, and what it reports comes later";
  }
  return "";
}

// What holds up the steps, or what is told of them, if anything does.
std::string PhaseReason(const LiveAttempt& attempt) {
  for (const job::RunPhase phase :
       {job::RunPhase::kEvaluating, job::RunPhase::kGenerating, job::RunPhase::kSaving}) {
    if (const Ranks ranks = InPhase(attempt, phase); !ranks.empty()) return PhaseText(ranks);
  }
  return "";
}

// What stops it before its last step.
std::string BoundText(const State& state, const Job& job, const Now& now) {
  if (std::string lease = LeaseWarning(state, job, now); !lease.empty()) return lease;
  const std::optional<TimeLeft> left = TimeLeftOf(state, job, now);
  const bool is_limit = left && left->by == Bound::kTimeLimit;
  return is_limit && RemainingSeconds(state, job, now)
             ? "its time limit ends it before its last step"
             : "";
}

std::string Join(const std::string& first, const std::string& second) {
  return first.empty() || second.empty() ? first + second : first + "; " + second;
}

std::string RunReason(const State& state, const Job& job, const Now& now) {
  std::string what = AwayText(state, *job.attempt, now);
  if (what.empty()) what = PhaseReason(*job.attempt);
  return Join(what, BoundText(state, job, now));
}

std::string StopReason(const State& state, const LiveAttempt& attempt) {
  for (const Rank& rank : attempt.ranks) {
    const Worker& worker = state.workers.at(rank.row.worker);
    if (rank.row.proof != Proof::kNone) continue;
    if (!worker.connected)
      return "waits for proof that " + RankNames({&rank.row}) + " ended: its worker is away";
    return "waits for the end of " + RankNames({&rank.row});
  }
  for (const Rank& rank : attempt.ranks) {
    const Worker& worker = state.workers.at(rank.row.worker);
    const bool has_it = worker.holder == rank.row.key;
    if (has_it && worker.connected && worker.word == DeviceWord::kUnknown)
      return "waits until the device of " + rank.row.worker + " is free";
  }
  return "";
}

// "host a: no space left on /var/lib/trainctl: reports wait".
std::string TroubleText(const State& state, const LiveAttempt& attempt) {
  for (const Rank& rank : attempt.ranks) {
    const Worker& worker = state.workers.at(rank.row.worker);
    if (worker.trouble.empty() || !worker.connected || rank.row.proof != Proof::kNone) continue;
    return "host " + rank.row.host + ": " + worker.trouble + ": reports wait";
  }
  return "";
}

}  // namespace

std::string Reason(const State& state, const Job& job, const Now& now) {
  const auto beside_trouble = [&](const std::string& reason) {
    return Join(TroubleText(state, *job.attempt), reason);
  };
  switch (job.status.state) {
    case job::JobState::kQueued: return WaitReason(state, job, now);
    case job::JobState::kStarting:
      return beside_trouble(Join(StartReason(*job.attempt), LeaseWarning(state, job, now)));
    case job::JobState::kStopping: return beside_trouble(StopReason(state, *job.attempt));
    case job::JobState::kRunning: return beside_trouble(RunReason(state, job, now));
    case job::JobState::kFinished: return "";
  }
  return "";
}

}  // namespace trainctl::core
