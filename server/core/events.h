// What can happen to the scheduler. The shell makes one event of each message, of each stream that
// ends, and of each second.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/base/clock.h"
#include "common/base/ids.h"
#include "common/base/result.h"
#include "common/estimate/site_prediction.h"
#include "common/job/host_rules.h"
#include "common/job/resumed_run.h"
#include "common/rank/rank_report.h"
#include "server/core/rows.h"

namespace trainctl::core {

// One job (group_name empty), or the experiments of a lab file as one group: all or nothing.
// Answered by SubmitAccepted or SubmitRefused. The shell has asked the store before that request_id
// is new, and has checked each job.
struct Submission {
  job::JobSpec spec;
  std::optional<job::Inspection> inspection;
  std::optional<job::Prediction> prediction;
  bool micro_batch_auto =
      false;  // spec's micro batch is the estimate's choice, to be proven by a trial
};
struct JobsSubmitted {
  std::string request_id;
  std::string group_name;
  std::vector<Submission> jobs;
  bool force = false;        // nobody asks whether they fit the site's devices
  std::string user;          // the owner
  int64_t max_parallel = 0;  // of a group's jobs at once; 0: any number
};

// Of a job that has ended or does not exist: nothing happens.
struct CancelRequested {
  base::JobId job;
};

// Jobs are to be forgotten. Of those that have not ended: nothing happens.
struct JobsRemoved {
  std::vector<base::JobId> jobs;
};

// A worker's stream is up and its inventory is here. The shell sends at most one stream's messages
// for a worker name: a newer stream's Hello comes without a WorkerStreamLost for the older one.
// Another identity than the known one's is refused (RefuseWorker), until that one is LOST and holds
// no attempt: it has other ranks, and proves nothing about them. So is who holds a rank of another
// site: under its key it could be taken for ours, or be ended.
struct HeldRank {
  job::RankKey key;
  bool running = false;   // false: ended, its exit is among the unacknowledged reports, or was
                          // acknowledged and not released
  std::string site = {};  // whose rank it is; empty: not told
};
struct WorkerHello {
  WorkerRow worker;  // last_seen is set by Step
  std::vector<HeldRank> held;
  bool device_free = false;
  std::string device_reason;             // why it is not; may be empty
  std::string incarnation;               // of its process; empty: unknown, and taken as a new one
  int64_t stream = 0;                    // of that process, from 1; 0: it does not number them
  std::vector<job::DeviceFault> faults;  // as of DeviceFaultsTold
  job::HostRules rules;                  // what jobs may do there
};

// The worker's stream ended. last_heard: when its last message came (a shell that ends a silent
// stream knows it); 0: just now.
struct WorkerStreamLost {
  std::string worker;
  base::SteadyMicros last_heard = 0;
};

// An operator's word that nothing of ours runs on the LOST worker's host any more: proof that its
// rank has ended. Of a worker that is not LOST: nothing happens.
struct WorkerFenced {
  std::string worker;
};

// One report of or about a rank. Reports are numbered from 1 for each key, and come in order on
// each stream. After a reconnect they come from the first that Welcome does not acknowledge. Step
// drops what it has seen already and what is of an old attempt.
struct RankReported {
  std::string worker;  // whose stream it came by: the acknowledgement goes there
  job::RankKey key;
  int64_t sequence = 0;
  job::ReportBody body;
  int64_t age_us = 0;  // by its worker's word (rank_report.h)
};

// The worker's word on its device: after each rank's end, when it changes while no rank of ours
// runs there, and now and then.
struct DeviceStateChanged {
  std::string worker;
  bool free = false;
  std::string reason;  // why it is not
};

// All faults of the worker's device that count now.
struct DeviceFaultsTold {
  std::string worker;
  std::vector<job::DeviceFault> faults;
};

// Whether the worker can write its own folder, when that changes. Until it can, what its rank says
// is held in memory there, up to a bound.
struct HostTroubled {
  std::string worker;
  std::string trouble;  // why it can't; empty: it can
};

// What became of InspectJob. kInvalid: the worker looked, and can't read the model or the data;
// other errors: nobody looked.
struct JobInspected {
  base::JobId job;
  std::string worker;  // that was asked
  base::Result<job::Inspection> inspection;
  job::EarlierMeasures earlier = {};            // of such a job
  std::optional<job::ResumedRun> resumed = {};  // that it goes on from, where that has ended
};

// An operator's word that the worker does not come back. Of one that is connected or holds an
// attempt: nothing happens.
struct WorkerRemoved {
  std::string worker;
};

// An operator's word that nothing new is to be placed on a worker's device, or on a host's: what
// runs there goes on. It replaces what was said before. Of nothing known: nothing happens.
struct DevicesDrained {
  std::string target;  // the worker, or the host
  std::string user;
  std::string reason;
};

// The end of that; of a host also the end of what was said of its workers. Of a worker that is
// named itself, faults don't count any more and it is not marked as slow: of a host's workers
// neither, where `faults` says so.
struct DevicesUndrained {
  std::string target;
  bool faults = false;
};

// A lease as NewLease (lease_wish.h) made it of the same state. Of one that does not fit: nothing
// happens.
struct LeaseMade {
  LeaseRow row;  // `id` is set by Step
};

// Its end, as LaterEnd allowed it. Of one that is about to end: nothing happens.
struct LeaseExtended {
  int64_t lease = 0;
  base::WallMicros end = 0;
};

// It ends now, or would have begun: its jobs end as LEASE_ENDED, with the time to save.
struct LeaseDeleted {
  int64_t lease = 0;
  std::string user;  // who says so
};

// Once a second: deadlines are looked at.
struct Tick {};

using Event = std::variant<JobsSubmitted, CancelRequested, JobsRemoved, WorkerHello,
                           WorkerStreamLost, WorkerFenced, WorkerRemoved, DevicesDrained,
                           DevicesUndrained, LeaseMade, LeaseExtended, LeaseDeleted, RankReported,
                           DeviceStateChanged, DeviceFaultsTold, HostTroubled, JobInspected, Tick>;

}  // namespace trainctl::core
