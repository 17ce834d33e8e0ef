// Whether a site takes a job, and what the job then amounts to: one answer for a dry run, for
// submit and for a job that is inspected late. Pure, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/estimate/inspection.h"
#include "common/job/job.h"
#include "common/job/output_folder.h"
#include "common/job/resumed_run.h"
#include "common/job/run_plan.h"
#include "common/job/site.h"
#include "common/json/problem.h"

namespace trainctl::job {

struct JobAtSite {
  JobSpec job;
  std::optional<Inspection> inspection;
  std::vector<SiteDevice> devices;  // none: the site is not known, and refuses nothing
  // With those that hosts' rules keep the job from; none: they keep it from none.
  std::vector<SiteDevice> whole_site = {};
  bool force = false;                      // it may be placed where it does not fit
  bool fit_is_open = false;                // its micro batch is yet to be chosen so that it fits
  Claimant claimant;                       // of output.dir
  std::optional<ResumedRun> resumed = {};  // of checkpoint.resume_job, where that has ended
};

// A fault of the job at this site that force puts aside.
struct Overridable {
  std::string consequence;  // "it will probably end OOM_GPU"
  Problem problem;
};

struct Acceptance {
  std::vector<Problem> problems;        // why it is refused; empty: it is taken
  std::vector<Overridable> overridden;  // that force put aside
  std::optional<RunPlan> plan;          // of inspected data; nullopt: their rows are not known
};

// Whether the job is refused, unless forced, because its weights are not there. Those that a job
// before it makes come in time.
bool LacksWeights(const JobSpec& job, const Inspection& inspection);

// kInvalid: the inspected data do not fill one global batch.
base::Result<Acceptance> AcceptJob(const JobAtSite& question);

}  // namespace trainctl::job
