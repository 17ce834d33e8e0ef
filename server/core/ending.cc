#include "server/core/ending.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "server/core/retry.h"

namespace trainctl::core {
namespace {

using job::Outcome;

constexpr int64_t kSigKill = 9;
constexpr int64_t kSigTerm = 15;
constexpr int64_t kNotLoaded = 127;  // of the dynamic loader, and of a shell

// From cause (0) to consequence.
int Weight(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOomGpu: return 0;
    case Outcome::kOomHost: return 1;
    case Outcome::kGpuFault: return 2;
    case Outcome::kDiverged: return 3;
    case Outcome::kLaunchFailed: return 4;
    case Outcome::kNodeLost: return 5;
    case Outcome::kFailed: return 6;
    case Outcome::kNcclError: return 7;
    case Outcome::kHang: return 8;
    case Outcome::kSucceeded:
    case Outcome::kTimeout:
    case Outcome::kLeaseEnded:
    case Outcome::kPreempted:
    case Outcome::kCancelled: return 9;
  }
  return 9;
}

std::string SignalText(int64_t signal) {
  static constexpr std::array<std::pair<int64_t, const char*>, 9> kNames = {{{1, "SIGHUP"},
                                                                             {2, "SIGINT"},
                                                                             {4, "SIGILL"},
                                                                             {6, "SIGABRT"},
                                                                             {7, "SIGBUS"},
                                                                             {8, "SIGFPE"},
                                                                             {9, "SIGKILL"},
                                                                             {11, "SIGSEGV"},
                                                                             {15, "SIGTERM"}}};
  for (const auto& [number, name] : kNames) {
    if (number == signal) return "signal " + std::to_string(signal) + " (" + name + ")";
  }
  return "signal " + std::to_string(signal);
}

std::string RankText(const RankRow& rank) {
  return "rank " + std::to_string(rank.key.rank) + " on " + rank.worker;
}

std::string ExitText(const job::RankExit& exit) {
  if (exit.signal) return "was ended by " + SignalText(*exit.signal);
  if (exit.exit_code) return "exited with code " + std::to_string(*exit.exit_code);
  return "left no record of how it ended";
}

Outcome OutcomeOf(const RankRow& rank) {
  switch (rank.proof) {
    case Proof::kNone:
    case Proof::kHostRestarted:
    case Proof::kFenced: return rank.outcome ? rank.outcome->outcome : Outcome::kNodeLost;
    case Proof::kLaunchFailed:
    case Proof::kWorkerUnfit: return Outcome::kLaunchFailed;
    case Proof::kExited:
      if (rank.exit.oom_killed) return Outcome::kOomHost;
      return rank.outcome ? rank.outcome->outcome : Outcome::kFailed;
    case Proof::kNeverStarted:
    case Proof::kRecordGone: return rank.outcome ? rank.outcome->outcome : Outcome::kFailed;
  }
  return Outcome::kFailed;
}

job::AttemptEnd EndOf(const RankRow& rank) {
  job::AttemptEnd end;
  end.outcome = OutcomeOf(rank);
  end.message = DescribeEnd(rank);
  end.rank = rank.key.rank;
  end.exit_code = rank.exit.exit_code;
  end.signal = rank.exit.signal;
  if (rank.outcome) end.oom = rank.outcome->oom;
  end.last_log_lines = rank.exit.last_log_lines;
  if (end.outcome == Outcome::kCancelled) {  // of a rank that keeps checkpoints: it ends in order
                                             // where others die of the signal
    end.outcome = Outcome::kFailed;
    end.signal = kSigTerm;
    end.message = RankText(rank) + " was ended by " + SignalText(kSigTerm) +
                  ", which nobody here sent: did its host shut down?";
  }
  return end;
}

// Ranks that ended by our stop are no cause, unless there is nothing else.
const RankRow& Cause(const LiveAttempt& attempt) {
  const auto key = [](const RankRow& rank) {
    return std::tuple(HasSucceeded(rank), rank.ended_by_stop, Weight(OutcomeOf(rank)),
                      rank.ended_at, rank.key.rank);
  };
  const auto cause = std::min_element(
      attempt.ranks.begin(), attempt.ranks.end(),
      [&](const Rank& left, const Rank& right) { return key(left.row) < key(right.row); });
  return cause->row;
}

job::AttemptEnd DecidedEnd(const Stop& stop, const LiveAttempt& attempt) {
  job::AttemptEnd end;
  end.outcome = stop.outcome;
  end.message = stop.message;
  end.rank = stop.rank;
  if (stop.rank) {
    const job::RankExit& exit = attempt.ranks[*stop.rank].row.exit;
    end.exit_code = exit.exit_code;
    end.signal = exit.signal;
    end.last_log_lines = exit.last_log_lines;
  }
  return end;
}

}  // namespace

bool HasSucceeded(const RankRow& rank) {
  return rank.outcome && rank.outcome->outcome == Outcome::kSucceeded;
}

bool IsEndedByStop(const RankRow& rank, const AttemptRow& attempt) {
  if (!attempt.stop) return false;
  if (rank.outcome) return rank.outcome->outcome == Outcome::kCancelled;
  if (rank.proof == Proof::kNeverStarted) return true;
  if (rank.proof != Proof::kExited || rank.exit.oom_killed) return false;
  const bool grace_is_over = rank.ended_at >= attempt.stop->at + attempt.stop->grace_us;
  return rank.exit.signal == kSigTerm || (rank.exit.signal == kSigKill && grace_is_over);
}

std::string DescribeEnd(const RankRow& rank) {
  const std::string who = RankText(rank);
  switch (rank.proof) {
    case Proof::kNone:
      return who + " is out of reach: its worker stays away, whether it still runs is not known";
    case Proof::kHostRestarted: return who + " ended with its host, which restarted";
    case Proof::kFenced: return who + " was lost with its worker, which an operator fenced";
    case Proof::kLaunchFailed:
    case Proof::kWorkerUnfit: return who + " could not be started: " + rank.failure;
    case Proof::kNeverStarted: return who + " had not started yet";
    case Proof::kRecordGone: return who + ": the rank's record is gone; how it ended is not known";
    case Proof::kExited: break;
  }
  if (rank.exit.oom_killed) return who + " was killed by the kernel: the host is out of memory";
  if (HasSucceeded(rank))
    return who + (rank.exit.exit_code == 0 ? " succeeded"
                                           : " reported success, then " + ExitText(rank.exit));
  if (!rank.outcome && rank.exit.exit_code == kNotLoaded)
    return who + " did not start: trainrank or a library of it can't be loaded, as its log tells";
  if (!rank.outcome)
    return who + " " + ExitText(rank.exit) +
           (rank.exit.exit_code ? " without reporting an outcome" : "");
  if (!rank.outcome->message.empty()) return who + ": " + rank.outcome->message;
  return who + " reported " + std::string(job::Name(rank.outcome->outcome)) + " and " +
         ExitText(rank.exit);
}

job::AttemptEnd ChooseEnd(const LiveAttempt& attempt) {
  if (std::all_of(attempt.ranks.begin(), attempt.ranks.end(),
                  [](const Rank& rank) { return HasSucceeded(rank.row); })) {
    return {Outcome::kSucceeded, "finished"};
  }
  const std::optional<Stop>& stop = attempt.row.stop;
  if (stop && stop->outcome != Outcome::kFailed) return DecidedEnd(*stop, attempt);
  return EndOf(Cause(attempt));
}

bool HasFailedTrial(const LiveAttempt& attempt, const job::AttemptEnd& end) {
  if (attempt.row.trial != Trial::kDue || !end.rank) return false;
  const RankRow& cause = attempt.ranks[*end.rank].row;
  const bool out_of_memory = end.outcome == Outcome::kOomGpu ||
                             (end.outcome == Outcome::kOomHost && cause.exit.oom_killed);
  return out_of_memory && cause.phase.phase == job::RunPhase::kTrial;
}

bool MayTrySmaller(const Job& job, const job::AttemptEnd& end) {
  return !job.status.cancel_requested && !job.row.unreadable &&
         job.attempt->row.micro_batch_size > 1 && HasFailedTrial(*job.attempt, end);
}

bool MayRestart(const Job& job, const job::AttemptEnd& end) {
  if (job.status.cancel_requested || job.status.restarts >= job.row.spec.resources.max_restarts)
    return false;
  return MayBeTheDevices(end) && end.outcome != Outcome::kLaunchFailed;
}

bool MayGoElsewhere(const Job& job, const job::AttemptEnd& end) {
  return end.outcome == Outcome::kLaunchFailed && end.rank && !job.status.cancel_requested &&
         !job.row.unreadable && job.unfit_launches < kMaxUnfitLaunches &&
         job.attempt->ranks[*end.rank].row.proof == Proof::kWorkerUnfit;
}

bool MayComeBack(const Job& job, const job::AttemptEnd& end) {
  return end.outcome == Outcome::kPreempted && !job.status.cancel_requested && !job.row.unreadable;
}

std::optional<bool> AsExpected(const job::JobSpec& spec, job::Outcome outcome) {
  if (!spec.expect) return std::nullopt;
  return job::IsAsExpected(outcome, *spec.expect);
}

}  // namespace trainctl::core
