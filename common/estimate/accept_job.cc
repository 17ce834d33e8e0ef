#include "common/estimate/accept_job.h"

#include <utility>

#include "common/base/size.h"
#include "common/estimate/check_model.h"
#include "common/estimate/fit.h"
#include "common/estimate/host_memory.h"
#include "common/estimate/output_bytes.h"
#include "common/job/trains.h"

namespace trainctl::job {
namespace {

std::vector<Overridable> OverridableFaults(const JobAtSite& question,
                                           const std::optional<RunPlan>& plan) {
  std::vector<Overridable> faults;
  if (LacksWeights(question.job, *question.inspection)) {
    faults.push_back({"it fails when it starts, unless its weights are there by then",
                      {"model.path", 0, "\"" + question.job.model.path + "\"",
                       "a model with its weights, or model.init \"random\"",
                       question.inspection->missing_weights}});
  }
  if (!question.fit_is_open) {
    for (Problem& problem : CheckFit(question.job, *question.inspection, question.devices))
      faults.push_back({"it will probably end OOM_GPU", std::move(problem)});
  }
  for (Problem& problem : CheckHostMemory(question.job, *question.inspection, question.devices))
    faults.push_back({"it will probably end OOM_HOST", std::move(problem)});
  if (!plan) return faults;
  if (auto problem = CheckOutputRoom(*plan, *question.inspection))
    faults.push_back({"its disk will probably be full", std::move(*problem)});
  return faults;
}

// Where hosts' rules keep the job from devices, they may be what is missing.
std::vector<Problem> CheckSites(const JobAtSite& question) {
  if (question.devices.empty()) return {};
  std::vector<Problem> problems = CheckSite(question.job, question.devices);
  const bool is_kept_out = !problems.empty() && !question.whole_site.empty() &&
                           CheckSite(question.job, question.whole_site).empty();
  if (is_kept_out) {
    problems.front().hint =
        "other hosts have them, and their workers keep it out (trainworker --read-root, "
        "--write-root, --allow-user)";
  }
  return problems;
}

}  // namespace

bool LacksWeights(const JobSpec& job, const Inspection& inspection) {
  return !inspection.missing_weights.empty() && job.resources.after.empty();
}

base::Result<Acceptance> AcceptJob(const JobAtSite& question) {
  const auto& [job, inspection, devices, whole_site, force, fit_is_open, claimant, resumed] =
      question;
  Acceptance acceptance{.problems = CheckSites(question)};
  if (inspection && (inspection->rows > 0 || !Trains(job))) {
    base::Result<RunPlan> plan = PlanRun(job, CountedOf(*inspection));
    if (!plan) return plan.error();
    acceptance.plan = std::move(*plan);
  }
  if (resumed) {
    std::optional<int64_t> steps;
    if (acceptance.plan) steps = acceptance.plan->total_steps;
    if (auto finished = CheckResumedRun(job, steps, *resumed))
      acceptance.problems.push_back(std::move(*finished));
  }
  if (!inspection) return acceptance;
  if (acceptance.plan && inspection->resume_step > acceptance.plan->total_steps) {
    acceptance.problems.push_back(
        {"checkpoint.resume_from", 0, "\"" + job.checkpoint.resume_from.value_or("") + "\"",
         "a checkpoint of at most " + base::WithThousands(acceptance.plan->total_steps) +
             " steps, which this job makes",
         "it is at step " + base::WithThousands(inspection->resume_step) +
             ": raise train.max_steps or train.epochs"});
  }
  for (Problem& problem : CheckModel(job, inspection->model))
    acceptance.problems.push_back(std::move(problem));
  if (inspection->output) {
    if (auto taken = CheckOutputFolder(job, *inspection->output, claimant))
      acceptance.problems.push_back(std::move(*taken));
  }
  if (!acceptance.problems.empty()) return acceptance;
  for (Overridable& fault : OverridableFaults(question, acceptance.plan)) {
    if (force) {
      acceptance.overridden.push_back(std::move(fault));
    } else {
      acceptance.problems.push_back(std::move(fault.problem));
    }
  }
  return acceptance;
}

}  // namespace trainctl::job
