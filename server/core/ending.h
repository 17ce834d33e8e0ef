// What an attempt's end is called, from how its ranks ended: pure. Internal to this room.
//
// A gang fails as one, so one rank's failure shows as errors of all. The outcome is that of the
// cause. What a rank says or suffers for a reason of its own comes before what follows from a
// peer's death. Ends that our own StopRank brought about are no cause at all.
#pragma once

#include <optional>
#include <string>

#include "server/core/state.h"

namespace trainctl::core {

// The rank's own word is that it did its work.
bool HasSucceeded(const RankRow& rank);

// Whether the rank (proof given) ended because we stopped it: it said CANCELLED, died of our
// SIGTERM, was killed once the grace was over, or had never started. A rank that dies otherwise
// while its gang stops has an end of its own.
bool IsEndedByStop(const RankRow& rank, const AttemptRow& attempt);

// "rank 1 on b/0 was ended by signal 11 (SIGSEGV)": for the job's history and for messages.
std::string DescribeEnd(const RankRow& rank);

// SUCCEEDED where all ranks succeeded; else the reason of a stop that was our decision (CANCELLED,
// TIMEOUT, HANG, NODE_LOST, LEASE_ENDED, PREEMPTED); else the weightiest rank's end: OOM_GPU,
// OOM_HOST, GPU_FAULT, DIVERGED, LAUNCH_FAILED, NODE_LOST (a rank without proof too), FAILED,
// NCCL_ERROR, others. A rank's own CANCELLED without such a decision is a SIGTERM from outside:
// FAILED by that signal, so that it may restart.
job::AttemptEnd ChooseEnd(const LiveAttempt& attempt);

// Whether a live attempt that ends so found out by its trial that its micro batch does not fit: the
// rank that caused the end ran out of memory in it.
bool HasFailedTrial(const LiveAttempt& attempt, const job::AttemptEnd& end);

// Whether an attempt with a smaller micro batch follows it. It is not counted.
bool MayTrySmaller(const Job& job, const job::AttemptEnd& end);

// Whether another attempt, counted against max_restarts, follows an attempt that ended so.
bool MayRestart(const Job& job, const job::AttemptEnd& end);

// Whether another attempt, not counted, follows an attempt that ended so: a worker could not start
// its rank, by no fault of the job's. Bounded, should it be the job's after all.
constexpr int64_t kMaxUnfitLaunches = 8;
bool MayGoElsewhere(const Job& job, const job::AttemptEnd& end);

// Whether another attempt, not counted, follows one that gave way (PREEMPTED): to a lease, or to a
// job of higher priority.
bool MayComeBack(const Job& job, const job::AttemptEnd& end);

// nullopt: the job expects nothing.
std::optional<bool> AsExpected(const job::JobSpec& spec, job::Outcome outcome);

}  // namespace trainctl::core
