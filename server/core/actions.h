// What a Step asks of its shell. The type is the rule: all of `persist` is committed in one
// transaction before any of `effects` is performed, both in order. Several Steps' rows may share
// one transaction. If the commit fails, no effect of those Steps may be performed, and the State is
// ahead of the store: the shell must stop (a restart restores what was stored).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/base/ids.h"
#include "common/base/result.h"
#include "common/rank/deadline.h"
#include "common/rank/rank_plan.h"
#include "server/core/rows.h"

namespace trainctl::core {

// A whole status, replacing the old one.
struct UpdateJob {
  base::JobId job;
  JobStatus status;
};

// What a job that was accepted without it turned out to be.
struct UpdateInspection {
  base::JobId job;
  job::Inspection inspection;
  job::Prediction prediction;
};

// A micro batch that was asked as "auto" does not fit: the job goes on with a smaller one, of which
// this is predicted.
struct UpdateSpec {
  base::JobId job;
  job::JobSpec spec;
  std::optional<job::Prediction> prediction;
};

// All rows of a FINISHED job are deleted, and its group's with the last of the group's jobs. The
// number stays used.
struct RemoveJob {
  base::JobId job;
};

// The worker is no more in the inventory.
struct RemoveWorker {
  std::string worker;
};

// The device or host may be used again.
struct RemoveDrain {
  std::string target;
};

// The fault is over.
struct RemoveFault {
  std::string worker;
  int64_t xid = 0;
};

// The device has kept up with a gang since, or is not to be marked.
struct RemoveSlow {
  std::string worker;
};

// Rows of attempts, ranks, workers, drains, faults, slow devices and leases are whole: inserted, or
// replacing the row of the same key.
using Persist =
    std::variant<SubmissionRow, GroupRow, JobRow, UpdateJob, UpdateInspection, UpdateSpec,
                 RemoveJob, AttemptRow, RankRow, WorkerRow, RemoveWorker, DrainRow, RemoveDrain,
                 FaultRow, RemoveFault, SlowRow, RemoveSlow, LeaseRow, EventRow, MetricRows,
                 RewindRow, AckRow, ArtefactRow, ContinuationRow>;

// To the worker: start the rank, unless it holds it already. The plan lacks bind_address and
// directory, which the worker fills in. It keeps the deadline by itself.
struct StartRank {
  std::string worker;
  job::RankKey key;
  job::RankPlan plan;
  std::optional<job::Deadline> deadline;
};

// To the worker that holds the rank: its deadline from now on; nullopt: it has none.
struct KeepDeadline {
  std::string worker;
  job::RankKey key;
  std::optional<job::Deadline> deadline;
};

struct SendPeers {
  std::string worker;
  job::RankKey key;
  std::string blob;
};

// End the rank's process tree: terminate, kill after the grace.
struct StopRank {
  std::string worker;
  job::RankKey key;
  int64_t grace_us = 0;
};

// To the worker: look at the model and the data of this queued job. The shell makes a JobInspected
// of each, whatever becomes of it.
struct InspectJob {
  std::string worker;
  base::JobId job;
  job::JobSpec spec;
  std::string user;  // whose job it is
};

// The rank's end is stored, or no longer of interest: its shim folder may be removed.
struct ReleaseRank {
  std::string worker;
  job::RankKey key;
};

// The report (and all before it) is stored: the worker need not send it again.
struct AckReport {
  std::string worker;
  job::RankKey key;
  int64_t sequence = 0;
};

// Answers Hello: for each held rank that is known, the last report stored. The shell adds the logs'
// offsets.
struct Welcome {
  std::string worker;
  std::vector<AckRow> acks;
};

// Instead of Welcome: the stream is another worker's than the one of that name.
struct RefuseWorker {
  std::string worker;
  base::Error error;  // kConflict
};

// Watchers may want to look: once a Step for each job.
struct JobChanged {
  base::JobId job;
};

// People are to hear of the fault. One that goes on is told by its worker again and again. It is
// news again where it was cleared, its job has not heard of it, or ten minutes were quiet.
struct FaultIsNews {
  FaultRow fault;
};

struct SubmitAccepted {
  std::string request_id;
  base::GroupId group;  // 0: a single job
  std::vector<base::JobId> jobs;
};

struct SubmitRefused {
  std::string request_id;
  base::Error error;  // kExhausted: the queue is full; kInvalid: two jobs for one output.dir
};

using Effect =
    std::variant<StartRank, KeepDeadline, SendPeers, StopRank, InspectJob, ReleaseRank, AckReport,
                 Welcome, RefuseWorker, JobChanged, FaultIsNews, SubmitAccepted, SubmitRefused>;

struct Actions {
  std::vector<Persist> persist;
  std::vector<Effect> effects;
};

}  // namespace trainctl::core
