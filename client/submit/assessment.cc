#include "client/submit/assessment.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "client/submit/reach.h"
#include "common/base/size.h"
#include "common/estimate/accept_job.h"
#include "common/estimate/micro_batch_choice.h"
#include "common/job/check_job.h"
#include "common/job/held_devices.h"

namespace trainctl::client {
namespace {

std::vector<job::SiteDevice> Devices(const Site& site) {
  std::vector<job::SiteDevice> devices;
  for (const SiteWorker& worker : site.workers) devices.push_back(worker.device);
  return devices;
}

// "auto" becomes a number, or a problem.
void ChooseMicroBatch(const Site& site, Assessment* assessment) {
  if (assessment->job.train.micro_batch_size) return;
  base::Result<job::MicroBatchChoice> choice =
      assessment->inspection
          ? job::ChooseMicroBatch(assessment->job, *assessment->inspection, Devices(site))
          : base::Error{base::Code::kInvalid,
                        "it is chosen by the model's memory, which could not be inspected"};
  if (!choice.ok()) {
    assessment->site_problems.push_back(
        {"train.micro_batch_size", 0, "\"auto\"", "a number", choice.error().message});
    return;
  }
  assessment->job = choice->job;
  assessment->micro_batch_choice = choice->Text();
}

void TakePrediction(const Site& site, Assessment* assessment) {
  job::SitePrediction on =
      job::PredictOnSite(assessment->job, assessment->inspection, Devices(site));
  for (const size_t place : on.candidates) assessment->candidates.push_back(site.workers[place]);
  assessment->prediction = std::move(on.memory);
  assessment->device_name = std::move(on.device_name);
}

// Whether they have ended only the coordinator knows: AssessAll asks.
std::vector<std::string> OwnersOf(const std::optional<job::Inspection>& inspection) {
  std::vector<std::string> owners;
  if (!inspection || !inspection->output) return owners;
  if (inspection->output->owner) owners.push_back(inspection->output->owner->job);
  for (const job::OverlappingFolder& other : inspection->output->overlaps)
    owners.push_back(other.owner.job);
  return owners;
}

// As the coordinator will decide.
void TakeAcceptance(job::Acceptance acceptance, Assessment* assessment) {
  if (acceptance.plan) {
    assessment->split = acceptance.plan->split;
    assessment->sequences = acceptance.plan->sequences;
    assessment->steps = acceptance.plan->total_steps;
    std::ranges::move(acceptance.plan->notes, std::back_inserter(assessment->notes));
  }
  for (job::Problem& problem : acceptance.problems)
    assessment->site_problems.push_back(std::move(problem));
  for (const job::Overridable& fault : acceptance.overridden) {
    assessment->notes.push_back(fault.consequence + ": expected " + fault.problem.expected + "; " +
                                fault.problem.hint);
  }
}

// As the coordinator will do.
void KeepToPolicy(const Site& whole_site, const Site& reached, Assessment* assessment) {
  const SiteBounds bounds = whole_site.bounds.value_or(SiteBounds());
  job::JobSpec& job = assessment->job;
  const int64_t held = job::LeastHeldDevices(job, Devices(reached), Devices(whole_site));
  for (job::Problem& problem : job::CheckPolicy(bounds.policy, bounds.user, job, held))
    assessment->site_problems.push_back(std::move(problem));
  for (std::string& told : job::FillIn(bounds.policy, bounds.user, &job))
    assessment->notes.push_back(std::move(told));
}

// Of a job that no host would ever run.
void RefuseBarred(const Site& whole_site, const Site& reached, Assessment* assessment) {
  if (whole_site.workers.empty() || !reached.workers.empty()) return;
  assessment->site_problems.push_back(
      {"submit", 0, "", "a worker of the site that lets this user's jobs run", ""});
}

void NoteTimeLimit(Assessment* assessment) {
  const std::optional<int64_t>& limit = assessment->job.resources.time_limit_seconds;
  const double seconds = assessment->time->total_seconds;
  if (!limit || static_cast<double>(*limit) >= seconds) return;
  assessment->notes.push_back(
      "resources.time_limit " + base::SpellDuration(*limit) + " is shorter than the predicted " +
      base::FormatDuration(std::llround(seconds)) + ": it will probably end TIMEOUT");
}

}  // namespace

void PredictTime(const job::EarlierMeasures& earlier, Assessment* assessment) {
  if (!assessment->inspection || assessment->candidates.empty()) return;
  assessment->time = job::PredictTimeOn(assessment->job, *assessment->inspection,
                                        assessment->device_name, assessment->prediction, earlier);
  if (assessment->time) NoteTimeLimit(assessment);
}

base::Result<Assessment> Assess(const KnownJob& known, const Site& whole_site, bool force) {
  const auto& [job, inspection, resumed] = known;
  Reach reach = FindReach(job, whole_site.workers);
  const Site site{whole_site.known, whole_site.id, std::move(reach.workers)};
  Assessment assessment{
      .job = job::ResolveJob(job), .inspection = inspection, .barred = std::move(reach.barred)};
  RefuseBarred(whole_site, site, &assessment);
  KeepToPolicy(whole_site, site, &assessment);
  ChooseMicroBatch(site, &assessment);
  const base::Result<job::BatchPlan> batch = job::PlanBatch(assessment.job);
  if (!batch.ok()) return batch.error();
  assessment.batch = *batch;
  const bool is_chosen = assessment.job.train.micro_batch_size.has_value();
  base::Result<job::Acceptance> acceptance =
      job::AcceptJob({.job = assessment.job,
                      .inspection = inspection,
                      .devices = Devices(site),
                      .whole_site = assessment.barred.empty() ? std::vector<job::SiteDevice>()
                                                              : Devices(whole_site),
                      .force = force,
                      .fit_is_open = !is_chosen,
                      .claimant = {site.id, "", OwnersOf(inspection)},
                      .resumed = resumed});
  if (!acceptance.ok()) return acceptance.error();
  if (inspection && !acceptance->plan)
    return base::Error{base::Code::kInvalid, "the data have no rows"};
  TakeAcceptance(std::move(*acceptance), &assessment);
  TakePrediction(site, &assessment);
  return assessment;
}

}  // namespace trainctl::client
