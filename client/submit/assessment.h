// What is known of a job before it runs: batch arithmetic, steps, memory by kind, and whether and
// where this site can run it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/estimate/inspection.h"
#include "common/estimate/memory_estimate.h"
#include "common/estimate/run_time.h"
#include "common/estimate/site_prediction.h"
#include "common/job/batch.h"
#include "common/job/host_rules.h"
#include "common/job/job.h"
#include "common/job/resumed_run.h"
#include "common/job/site.h"
#include "common/job/user_policy.h"
#include "common/job/worker_state.h"
#include "common/json/problem.h"

namespace trainctl::client {

struct SiteWorker {
  std::string name;                       // "host/0"
  std::optional<job::WorkerState> state;  // nullopt: one that this version does not know
  job::SiteDevice device;
  job::HostRules rules = {};  // for this user's jobs
  std::string bars = {};      // why none of them runs there; empty: they may
  // "DRAINED", also of a BUSY one: why no other job comes there until a person acts. Empty: one
  // may.
  std::string kept_out = {};
};

struct Assessment {
  job::JobSpec job;  // with its strategy resolved, what it leaves to the site's policy, and its
                     // micro batch where that is "auto" and could be chosen
  std::optional<std::string> micro_batch_choice;  // why that one
  job::BatchPlan batch;
  std::optional<job::Inspection> inspection;
  std::optional<job::Split> split;                // of an inspected data set
  std::optional<int64_t> sequences;               // that its training rows make
  std::optional<int64_t> steps;                   // optimizer steps of the run
  std::optional<job::MemoryEstimate> prediction;  // of an inspected model
  std::optional<job::TimeEstimate> time;  // of an inspected model on the first of the candidates
  std::vector<job::Problem>
      site_problems;  // why this site would refuse it: devices, constraints, model, fit, folder
  bool is_denied = false;          // the site does not allow it to this user; site_problems say so
  std::vector<std::string> notes;  // it would be accepted, but
  std::vector<SiteWorker> candidates;  // devices that it could run on
  std::string barred;                  // why hosts' rules keep it from others (reach.h)
  std::string device_name;             // of the first of them, as the job would have it (site.h)
};

// What the site grants the user who asks, and what of it is taken.
struct SiteBounds {
  std::string user;
  job::UserPolicy policy;
  int64_t waiting_jobs = 0;
};

struct Site {
  bool known = false;                     // the coordinator answered; else nothing is said about it
  std::string id;                         // of the coordinator
  std::vector<SiteWorker> workers;        // the stored inventory
  std::optional<SiteBounds> bounds = {};  // nullopt: not known
};

// Predicts the time: from the earlier runs of the same shape on the device where the job would run,
// else from its rates. Nothing where neither is known. A run that is expected to run out of memory
// does so in its first step. Notes a time limit that is shorter.
void PredictTime(const job::EarlierMeasures& earlier, Assessment* assessment);

// A job that was read without problems, and what is known beside it.
struct KnownJob {
  job::JobSpec job;
  std::optional<job::Inspection> inspection = {};
  std::optional<job::ResumedRun> resumed = {};  // of checkpoint.resume_job, where that has ended
};

// The owner of output.dir counts as ended. force: that it
// fits no device is a note, not a problem. kInvalid: the inspected data do not fill one global
// batch.
base::Result<Assessment> Assess(const KnownJob& known, const Site& site, bool force);

}  // namespace trainctl::client
