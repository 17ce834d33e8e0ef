// What the coordinator remembers, as plain rows: the core makes them, the store keeps them, a
// restart gives them back (restore.h). Times are wall micros, 0 = not yet. Nothing here is derived:
// what people see is made from rows when they ask.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.h"
#include "common/base/ids.h"
#include "common/estimate/prediction.h"
#include "common/job/device_fault.h"
#include "common/job/job.h"
#include "common/job/outcome.h"
#include "common/rank/metric.h"
#include "common/rank/rank_key.h"
#include "common/rank/rank_plan.h"
#include "common/rank/rank_report.h"

namespace trainctl::core {

// One accepted call of Submit. request_id is unique: a second submission under it is the first
// one's answer (the store is asked before).
struct SubmissionRow {
  std::string request_id;
  base::GroupId group;  // 0: a single job
  base::WallMicros at = 0;
};

struct GroupRow {
  base::GroupId id;
  std::string name;
  base::WallMicros submitted_at = 0;
  int64_t max_parallel = 0;  // of its jobs at once; 0: any number
};

// A stored job file that the present schema refuses. Such a job is shown, and never started.
struct UnreadableSpec {
  std::string text;  // as it is stored
  std::string why;
};

// Numbers between the last of a backup and the first of the site that was made of it. Some may have
// been given to jobs in between, of which that site knows nothing.
struct JobGap {
  int64_t first = 0;
  int64_t last = 0;
};

// What never changes of a job once it is placed. The exception is what UpdateSpec says of a micro
// batch that was asked as "auto".
struct JobRow {
  base::JobId id;
  base::GroupId group;  // 0: none
  std::string request_id;
  job::JobSpec spec;                          // paths absolute; spec.name is the job's name
  std::optional<job::Inspection> inspection;  // nullopt: not inspected yet, or nobody could look
  std::optional<job::Prediction> prediction;
  base::WallMicros submitted_at = 0;
  bool force = false;            // it may be placed though it is predicted to fit no device
  int64_t auto_micro_batch = 0;  // the estimate's choice, where "auto" was asked; 0: a number was.
                                 // spec has the one to run, or to try
  std::string user;              // its owner; of older coordinators by the client's word, or empty
  std::optional<UnreadableSpec> unreadable;  // then spec has its name and devices only
};

// How far a run is, over all its ranks.
struct JobProgress {
  int64_t step = 0;                  // optimizer steps done, of the rank that did fewest
  int64_t steps = 0;                 // of the whole run; 0: not known yet
  std::optional<double> loss;        // as rank 0 said last
  int64_t peak_allocated_bytes = 0;  // of the rank with the most
};

// What changes of a job.
struct JobStatus {
  job::JobState state = job::JobState::kQueued;
  int64_t attempt = 0;    // the latest; 0: none yet
  int64_t restarts = 0;   // attempts counted against max_restarts
  int64_t proven_by = 0;  // the attempt whose trial proved the micro batch; 0: none yet, or there
                          // is nothing to prove
  bool cancel_requested = false;
  std::optional<job::AttemptEnd>
      end;  // of FINISHED: the last attempt's, or CANCELLED of a job that never started
  std::optional<bool> as_expected;  // of FINISHED jobs with an expectation
  base::WallMicros started_at = 0;  // of the first attempt
  base::WallMicros ended_at = 0;
  JobProgress
      progress;  // as of the last time this row was written; a live job's is core::Progress(job)
};

// Of a FINISHED job: it SUCCEEDED, or ended as its file expects.
bool EndedOk(const JobStatus& status);

// Why the coordinator began to end a gang. `outcome` is CANCELLED, TIMEOUT, HANG, NODE_LOST,
// LEASE_ENDED or PREEMPTED where that is the attempt's outcome; FAILED where a rank failed and the
// outcome is chosen from the ranks' ends (ending.h).
struct Stop {
  job::Outcome outcome = job::Outcome::kFailed;
  std::string message;          // for people
  std::optional<int64_t> rank;  // that caused it
  int64_t grace_us = 0;         // between terminate and kill
  base::WallMicros at = 0;
};

// Whether an attempt tries its micro batch before it loads weights, and what came of it: kFailed
// where it does not fit.
enum class Trial { kNone, kDue, kPassed, kFailed };
std::string_view Name(Trial trial);  // "none", "due", …, as it is stored and sent
std::optional<Trial> ParseTrial(std::string_view name);

struct AttemptRow {
  base::JobId job;
  int64_t attempt = 1;
  base::WallMicros placed_at = 0;
  base::WallMicros ended_at = 0;
  std::string blob;                    // rank 0's rendezvous; empty: not published yet
  std::optional<Stop> stop;            //
  std::optional<job::AttemptEnd> end;  // immutable once there
  int64_t micro_batch_size = 0;        // 0: of a coordinator that did not say it
  Trial trial = Trial::kNone;
  base::SteadyMicros placed_steady = 0;  // placed_at by the coordinator's steady clock
  std::string placed_boot;               // of its host, where that counts; empty: it did not say it
};

// How it is known that a rank's processes are gone. kNone: they may be there. kWorkerUnfit: it
// could not be started, by no fault of its job's.
enum class Proof {
  kNone,
  kExited,
  kLaunchFailed,
  kHostRestarted,
  kNeverStarted,
  kRecordGone,
  kFenced,
  kWorkerUnfit
};

struct RankRow {
  job::RankKey key;
  std::string worker;        // "host/0"
  std::string host;          //
  std::string device_uuid;   //
  std::string device_name;   //
  bool confirmed = false;    // the worker has said that it knows the rank
  job::RankStarted started;  // empty until its process is up
  job::RankPhase phase;      // kTraining once it makes steps
  job::RankProgress progress;
  std::optional<job::RankOutcome> outcome;  // the rank's own word on its end
  Proof proof = Proof::kNone;
  job::RankExit exit;   // of kExited
  std::string failure;  // of kLaunchFailed and kWorkerUnfit: why
  bool ended_by_stop =
      false;  // its end is the doing of our StopRank: never the cause of the attempt's outcome
  base::WallMicros ended_at = 0;  //
  int64_t held_devices = 1;       // that count as its owner's while it has its own (held.h)
};

// One worker and its one device: the site's inventory, LOST ones included.
struct WorkerRow {
  std::string name;  // stable across restarts: "host/0"
  std::string host;
  std::string boot_id;
  std::string version;
  std::string address;
  job::Device device;
  base::WallMicros last_seen = 0;  // its last Hello with news, or its last word before its stream
                                   // was lost; while connected its session knows
  std::string identity;  // of the folder behind the name; empty: of a worker that did not tell
};

// An operator's word that nothing new is placed on a device, or on any of a host.
struct DrainRow {
  std::string target;  // the worker, or the host
  std::string user;    // who said so; may be empty
  std::string reason;  // in their words; may be empty
  base::WallMicros at = 0;
};

// What a device's driver told of it last under an XID.
struct FaultRow {
  std::string worker;
  std::string device_uuid;  // of another device of the worker's it says nothing
  job::DeviceFault fault;
  bool cleared = false;  // an operator has said that it does not count any more
};

// A device that was much slower than the others of a gang, as steps have shown last.
struct SlowRow {
  std::string worker;
  std::string device_uuid;
  job::RankKey key;  // that it had then
  double ratio = 1;  // of that rank's own work in a step to the others'
  base::WallMicros at = 0;
};

// Devices that are one user's for a time. Which they are is decided when it is made.
struct LeaseRow {
  int64_t id = 0;    // 1, 2, …, never given twice
  std::string name;  // no other lease has it that is not over
  std::string user;  // its owner
  std::string request_id;
  std::vector<std::string> workers;  // in order; no other lease has one of them at the same time
  base::WallMicros start = 0;
  base::WallMicros end = 0;
  base::WallMicros created_at = 0;
  base::WallMicros over_at = 0;  // its time has passed and its jobs have ended; 0: not yet
};

// Devices that one attempt or one lease had, and that are free again.
struct UseRow {
  std::string user;  // whose it was
  int64_t devices = 0;
  base::WallMicros from = 0;
  base::WallMicros to = 0;
};

// One line of a job's history.
struct EventRow {
  base::JobId job;
  base::WallMicros at = 0;
  std::string text;
};

// Points of one rank's report, in its order. point.rank is as the wire gave it: set on points of
// the rank, null on the gang's.
struct MetricRows {
  job::RankKey key;
  std::vector<job::MetricPoint> points;
};

// The attempt trains anew from `step` on: what earlier ones told of these steps is gone.
struct RewindRow {
  base::JobId job;
  int64_t attempt = 0;
  int64_t step = 0;
};

// All reports of the rank up to `sequence` have had their effect: stored together with those
// effects, so that each has it once.
struct AckRow {
  job::RankKey key;
  int64_t sequence = 0;
};

// An artefact that a rank wrote completely. It replaces what was saved to its path on that host, by
// whatever job; what is in saved.removed is forgotten.
struct ArtefactRow {
  job::RankKey key;
  job::RankSaved saved;
  base::WallMicros at = 0;
};

// What the model made of a prompt at a step. It replaces what an earlier attempt said of them.
struct ContinuationRow {
  base::JobId job;
  job::RankContinuation said;
};

}  // namespace trainctl::core
