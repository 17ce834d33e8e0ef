#include "server/core/gang.h"

#include <algorithm>
#include <string>

#include "server/core/ending.h"
#include "server/core/fair_share.h"
#include "server/core/held.h"
#include "server/core/inspect.h"
#include "server/core/job_indexes.h"
#include "server/core/last_moment.h"
#include "server/core/lease_events.h"
#include "server/core/loan.h"
#include "server/core/micro_batch.h"
#include "server/core/plan.h"
#include "server/core/quota.h"
#include "server/core/retry.h"
#include "server/core/run_length.h"

namespace trainctl::core {
namespace {

Rank PlacedRank(const job::RankKey& key, const Worker& worker) {
  Rank rank;
  rank.row.key = key;
  rank.device = worker.device;
  rank.row.worker = worker.row.name;
  rank.row.host = worker.row.host;
  rank.row.device_uuid = worker.row.device.uuid;
  rank.row.device_name = worker.row.device.name;
  return rank;
}

std::string Placement(const LiveAttempt& attempt) {
  std::string text;
  for (const Rank& rank : attempt.ranks) text += (text.empty() ? "" : ", ") + rank.row.worker;
  return text;
}

void SendStop(Turn& turn, const Rank& rank, int64_t grace_us) {
  if (rank.row.proof != Proof::kNone || !WorkerOf(turn.state, rank).connected) return;
  turn.Perform(StopRank{rank.row.worker, rank.row.key, grace_us});
}

// How it ended is not known, and its worker has been away for too long.
bool IsGivenUp(Turn& turn, const Rank& rank) {
  const Worker& worker = WorkerOf(turn.state, rank);
  return rank.row.proof == Proof::kNone && !worker.connected &&
         turn.now.steady - worker.away_since >= turn.state.options.worker_grace_us;
}

// A rank that another attempt would have to wait for, or whose worker may yet come back in time.
bool IsUnproven(Turn& turn, const Rank& rank, bool goes_on) {
  return rank.row.proof == Proof::kNone && (goes_on || !IsGivenUp(turn, rank));
}

// Whether the device's worker still owes its word after the rank's end.
bool AwaitsDeviceWord(Turn& turn, const Rank& rank) {
  const Worker& worker = WorkerOf(turn.state, rank);
  return worker.holder == rank.row.key && worker.connected && worker.word == DeviceWord::kUnknown &&
         turn.now.steady - rank.ended_steady < turn.state.options.device_word_timeout_us;
}

// Of those ranks that still have one. How many devices their owner holds no more (held.h).
template <class Which>
int64_t ReleaseDevices(Turn& turn, const LiveAttempt& attempt, const Which& which) {
  int64_t released = 0;
  bool are_some = false;
  for (const Rank& rank : attempt.ranks) {
    std::optional<job::RankKey>& holder = WorkerOf(turn.state, rank).holder;
    if (holder != rank.row.key || !which(rank)) continue;
    holder.reset();
    are_some = true;
    released += rank.row.held_devices;
  }
  if (!are_some) return released;
  UpdateFreeOfHosts(turn, attempt);
  turn.placement_may_change = true;  // a host may be empty now, though its devices be not free
  return released;
}

bool HasLeft(Turn& turn, const Rank& rank) {
  return rank.row.proof != Proof::kNone && !AwaitsDeviceWord(turn, rank);
}

// An end that waits for a host, which may never come back, keeps no device of another. An exclusive
// job gives back whole hosts.
void ReleaseWhatHasEnded(Turn& turn, Job& job) {
  const LiveAttempt& attempt = *job.attempt;
  const bool may_take_for_ever =
      std::ranges::any_of(attempt.ranks, [&](const Rank& rank) { return IsGivenUp(turn, rank); });
  if (!may_take_for_ever) return;
  const int64_t released = ReleaseDevices(turn, attempt, [&](const Rank& rank) {
    if (!job.row.spec.exclusive) return HasLeft(turn, rank);
    return std::ranges::all_of(attempt.ranks, [&](const Rank& other) {
      return other.row.host != rank.row.host || HasLeft(turn, other);
    });
  });
  if (released > 0) GiveBack(turn.state, job, released);
}

// Gives the devices to the ranks.
void TakeDevices(Turn& turn, Job& job, const std::vector<placement::DeviceId>& devices) {
  LiveAttempt& attempt = *job.attempt;
  for (const placement::DeviceId device : devices) {
    Worker& worker = *turn.state.devices[device];
    const auto number = static_cast<int64_t>(attempt.ranks.size());
    attempt.ranks.push_back(PlacedRank({job.row.id, attempt.row.attempt, number}, worker));
    worker.holder = attempt.ranks.back().row.key;
    worker.host_restarted = false;
  }
  for (Rank& rank : attempt.ranks) {
    if (WorkerOf(turn.state, rank).row.device.kind == job::DeviceKind::kCpu &&
        job.row.spec.exclusive)
      rank.row.device_name = job::CpuSlotName(ThreadsOf(turn.state, job, rank.row));
  }
  CountHeld(turn.state, job, &attempt.ranks);
  attempt.held = HeldByAll(attempt.ranks);
  GoLive(turn.state, job);
  ExpectEnd(turn.state, job, ExpectedEnd(turn.state, job, turn.now));
  UpdateFreeOfHosts(turn, attempt);
}

void Requeue(Turn& turn, Job& job) {
  job.status.state = job::JobState::kQueued;
  EndLive(turn.state, job);
  job.attempt.reset();
  RenewAvoided(turn.state, job, turn.now);
  Enqueue(turn, job);
  turn.placement_may_change = true;
  SaveJob(turn, job);
}

void Restart(Turn& turn, Job& job) {
  ++job.status.restarts;
  Requeue(turn, job);
  Say(turn, job.row.id,
      "queued again: restart " + std::to_string(job.status.restarts) + " of " +
          std::to_string(job.row.spec.resources.max_restarts) + ", " + RetryText(job));
}

// No restart of the job's: it was never run.
void GoElsewhere(Turn& turn, Job& job) {
  ++job.unfit_launches;
  Requeue(turn, job);
  Say(turn, job.row.id,
      "queued again: it could not be started by no fault of its own, " + RetryText(job));
}

// A trial's end out of memory is no outcome of the job: it goes on with a smaller micro batch and
// the same global batch.
void TrySmaller(Turn& turn, Job& job) {
  const std::string failed = std::to_string(job.attempt->row.micro_batch_size);
  UpdateSpec smaller =
      SmallerMicroBatch(job, WorkerOf(turn.state, job.attempt->ranks.front()).row.device.kind);
  job.row.spec = smaller.spec;
  job.row.prediction = smaller.prediction;
  turn.Persist(std::move(smaller));
  Requeue(turn, job);
  Say(turn, job.row.id,
      "micro batch " + failed + " does not fit: queued again with " +
          std::to_string(*job.row.spec.train.micro_batch_size));
}

// To all ranks of an attempt that begins.
void SendStarts(Turn& turn, Job& job) {
  const std::vector<Rank>& ranks = job.attempt->ranks;
  const job::RankPlan of_gang =
      PlanOfGang(turn.state, job, WorkerOf(turn.state, ranks.front()).row.device);
  const std::optional<job::Deadline> deadline = FirstDeadline(turn, job);
  for (const Rank& rank : ranks) {
    const Worker& worker = WorkerOf(turn.state, rank);
    if (!worker.connected) continue;
    StartRank start{worker.row.name, rank.row.key, of_gang, deadline};
    FillRank(turn.state, job, rank.row, worker.row.device, &start.plan);
    turn.Perform(std::move(start));
  }
}

// By its worker's word on how long ago that was; else now.
base::WallMicros WhenEnded(const RankRow& rank, const AttemptRow& attempt, base::WallMicros now) {
  return TimeBefore(attempt, now, rank.proof == Proof::kExited ? rank.exit.age_us : 0);
}

// That of its last rank; of one whose ranks have not all ended for certain: now.
base::WallMicros WhenEnded(const LiveAttempt& attempt, base::WallMicros now) {
  base::WallMicros end = attempt.row.placed_at;
  for (const Rank& rank : attempt.ranks)
    end = std::max(end, rank.row.proof == Proof::kNone ? now : rank.row.ended_at);
  return end;
}

std::vector<RankRow> RowsOf(const LiveAttempt& attempt) {
  std::vector<RankRow> rows;
  for (const Rank& rank : attempt.ranks) rows.push_back(rank.row);
  return rows;
}

bool AllProven(const LiveAttempt& attempt) {
  return std::all_of(attempt.ranks.begin(), attempt.ranks.end(),
                     [](const Rank& rank) { return rank.row.proof != Proof::kNone; });
}

}  // namespace

base::WallMicros TimeBefore(const AttemptRow& attempt, base::WallMicros now, int64_t age_us) {
  const int64_t longest = std::max<int64_t>(0, now - attempt.placed_at);
  return now - std::clamp<int64_t>(age_us, 0, longest);
}

bool HasJoined(const Rank& rank) { return job::HasJoined(rank.row.phase.phase); }

void SendStart(Turn& turn, const Job& job, const Rank& rank) {
  const Worker& worker = WorkerOf(turn.state, rank);
  if (worker.connected)
    turn.Perform(StartRank{worker.row.name, rank.row.key,
                           MakePlan(turn.state, job, rank.row, worker.row.device),
                           DeadlineOf(turn.state, job, turn.now)});
}

void SendPeersIfNeeded(Turn& turn, const LiveAttempt& attempt, const Rank& rank) {
  const bool is_needed = !attempt.row.blob.empty() && !attempt.row.stop && rank.row.key.rank != 0 &&
                         rank.row.proof == Proof::kNone && !HasJoined(rank) &&
                         WorkerOf(turn.state, rank).connected;
  if (is_needed) turn.Perform(SendPeers{rank.row.worker, rank.row.key, attempt.row.blob});
}

void StartGang(Turn& turn, Job& job, const std::vector<placement::DeviceId>& devices) {
  const base::JobId id = job.row.id;
  LiveAttempt& attempt = job.attempt.emplace();
  attempt.row.job = id;
  const auto lost = turn.state.lost_attempts.find(id);
  if (lost != turn.state.lost_attempts.end())
    job.status.attempt = std::max(job.status.attempt, lost->second);
  attempt.row.attempt = ++job.status.attempt;
  attempt.row.placed_at = turn.now.wall;
  attempt.row.placed_steady = turn.now.steady;
  attempt.row.placed_boot = turn.state.options.boot_id;
  attempt.row.micro_batch_size = job.row.spec.train.micro_batch_size.value_or(1);
  if (job.row.auto_micro_batch > 0 && job.status.proven_by == 0) attempt.row.trial = Trial::kDue;
  attempt.placed_steady = attempt.progress_steady = turn.now.steady;
  if (!QuotaOwner(turn.state, job).empty()) turn.took_quota = true;
  job.told.clear();
  TakeDevices(turn, job, devices);
  job.status.state = job::JobState::kStarting;
  if (job.status.started_at == 0) job.status.started_at = turn.now.wall;
  SaveJob(turn, job);
  SaveAttempt(turn, attempt);
  for (const Rank& rank : attempt.ranks) SaveRank(turn, rank);
  Say(turn, id,
      "attempt " + std::to_string(attempt.row.attempt) + " placed on " + Placement(attempt));
  TellOfLoan(turn, job);
  SendStarts(turn, job);
}

void StopGang(Turn& turn, Job& job, Stop stop) {
  LiveAttempt& attempt = *job.attempt;
  if (attempt.row.stop) return;
  stop.at = turn.now.wall;
  attempt.row.stop = std::move(stop);
  job.status.state = job::JobState::kStopping;
  SaveAttempt(turn, attempt);
  SaveJob(turn, job);
  RenewExpectedEnd(turn, job);
  turn.placement_may_change = true;  // with its devices others need fewer of who gives way
  if (!AllProven(attempt)) Say(turn, job.row.id, "stopping: " + attempt.row.stop->message);
  for (const Rank& rank : attempt.ranks) SendStop(turn, rank, attempt.row.stop->grace_us);
}

void EndRank(Turn& turn, Job& job, Rank& rank, Proof proof) {
  LiveAttempt& attempt = *job.attempt;
  rank.row.proof = proof;
  TakeDeadline(turn, job, rank);
  rank.row.ended_at = WhenEnded(rank.row, attempt.row, turn.now.wall);
  rank.ended_steady = turn.now.steady;
  rank.row.ended_by_stop = IsEndedByStop(rank.row, attempt.row);
  SaveRank(turn, rank);
  Say(turn, job.row.id, DescribeEnd(rank.row));
  if (!HasSucceeded(rank.row) && !rank.row.ended_by_stop) {
    StopGang(turn, job,
             {job::Outcome::kFailed, DescribeEnd(rank.row), rank.row.key.rank,
              turn.state.options.failure_grace_us});
  }
  if (AllProven(attempt) && job.status.state != job::JobState::kStopping) {
    job.status.state = job::JobState::kStopping;
    SaveJob(turn, job);
    turn.placement_may_change = true;  // as in StopGang
  }
  EndAttemptIfSettled(turn, job);
}

void EndAttemptIfSettled(Turn& turn, Job& job) {
  LiveAttempt& attempt = *job.attempt;
  if (!attempt.row.stop && !AllProven(attempt)) return;
  job::AttemptEnd end = ChooseEnd(attempt);
  JudgeAsLent(turn.state, attempt, &end);
  if (job.status.cancel_requested && end.outcome == job::Outcome::kPreempted)
    end = {.outcome = job::Outcome::kCancelled, .message = "cancelled"};
  const bool tries_smaller = MayTrySmaller(job, end), restarts = MayRestart(job, end),
             goes_elsewhere = MayGoElsewhere(job, end), comes_back = MayComeBack(job, end);
  const bool goes_on = tries_smaller || restarts || goes_elsewhere || comes_back;
  const bool is_settled = std::ranges::none_of(attempt.ranks, [&](const Rank& rank) {
    return IsUnproven(turn, rank, goes_on) || AwaitsDeviceWord(turn, rank);
  });
  if (!is_settled) return ReleaseWhatHasEnded(turn, job);
  if (HasFailedTrial(attempt, end)) attempt.row.trial = Trial::kFailed;
  attempt.row.end = end;
  attempt.row.ended_at = WhenEnded(attempt, turn.now.wall);
  SaveAttempt(turn, attempt);
  KeepUse(turn.state, job, turn.now);
  const std::string how =
      tries_smaller ? " in its trial" : ": " + std::string(job::Name(end.outcome));
  Say(turn, job.row.id,
      "attempt " + std::to_string(attempt.row.attempt) + " ended" + how + ": " + end.message);
  ReleaseDevices(turn, attempt, [](const Rank&) { return true; });
  NoteEnd(job, attempt.row, RowsOf(attempt));
  if (restarts || goes_elsewhere) Pause(turn.state, job, attempt.row, turn.now);
  if (tries_smaller) {
    TrySmaller(turn, job);
  } else if (restarts) {
    Restart(turn, job);
  } else if (goes_elsewhere) {
    GoElsewhere(turn, job);
  } else if (comes_back) {
    Requeue(turn, job);
    Say(turn, job.row.id, "queued again: " + end.message);
  } else if (attempt.row.trial == Trial::kFailed && attempt.row.micro_batch_size > 1) {
    Finish(turn, job,
           {job::Outcome::kCancelled, "cancelled before a smaller micro batch was tried"});
  } else {
    Finish(turn, job, std::move(end));
  }
}

void Finish(Turn& turn, Job& job, job::AttemptEnd end) {
  job.status.state = job::JobState::kFinished;
  job.status.as_expected = AsExpected(job.row.spec, end.outcome);
  job.status.end = std::move(end);
  // The clock may have been set back since.
  job.status.ended_at =
      std::max(job.status.started_at, job.attempt ? job.attempt->row.ended_at : turn.now.wall);
  SaveJob(turn, job);
  turn.ended.push_back({job.row.id, job.row.group, EndedOk(job.status), job.status.end->outcome});
  LeaveLease(turn.state, job);
  // The one behind it may be older, where the clock was set back.
  if (!job.attempt) turn.state.shares.starving_is_old = true;
  EndLive(turn.state, job);
  LeaveIndexes(turn.state, job);
  turn.state.lost_attempts.erase(job.row.id);
  turn.state.jobs.erase(job.row.id);
}

}  // namespace trainctl::core
