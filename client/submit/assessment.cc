#include "client/submit/assessment.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "client/submit/reach.h"
#include "common/base/size.h"
#include "common/estimate/accept_job.h"
#include "common/estimate/fit.h"
#include "common/estimate/gradient_holding.h"
#include "common/estimate/micro_batch_choice.h"
#include "common/estimate/predict_time.h"
#include "common/job/check_job.h"

namespace trainctl::client {
namespace {

bool IsCuda(const SiteWorker& worker) { return worker.device.kind == job::DeviceKind::kCuda; }

std::vector<job::SiteDevice> Devices(const Site& site) {
  std::vector<job::SiteDevice> devices;
  for (const SiteWorker& worker : site.workers) devices.push_back(worker.device);
  return devices;
}

// Devices of one kind that meet the constraints; GPUs where there are enough of them, else CPU
// slots.
std::vector<SiteWorker> MeetingConstraints(const job::JobSpec& job, const Site& site) {
  std::vector<SiteWorker> gpus, slots;
  std::string reason;
  for (const SiteWorker& worker : site.workers) {
    if (job::MeetsConstraints(job, worker.device, &reason))
      (IsCuda(worker) ? gpus : slots).push_back(worker);
  }
  return static_cast<int64_t>(gpus.size()) >= job.devices || slots.empty() ? gpus : slots;
}

job::DeviceKind KindOf(const std::vector<SiteWorker>& candidates) {
  return candidates.empty() || IsCuda(candidates.front()) ? job::DeviceKind::kCuda
                                                          : job::DeviceKind::kCpu;
}

// Those that the prediction fits, as the scheduler has it; all where it fits too few.
std::vector<SiteWorker> WithRoom(const Assessment& assessment) {
  std::vector<SiteWorker> roomy;
  for (const SiteWorker& worker : assessment.candidates) {
    const int64_t limit = job::MemoryLimit(assessment.job, worker.device);
    if (limit == 0 || assessment.prediction->peak_allocated <= limit) roomy.push_back(worker);
  }
  return static_cast<int64_t>(roomy.size()) >= assessment.job.devices ? roomy
                                                                      : assessment.candidates;
}

// Of the smallest device of a gang on the roomiest of the candidates; 0: they are too few, or of
// unknown size.
int64_t DeviceBytes(const Assessment& assessment) {
  std::vector<int64_t> sizes;
  for (const SiteWorker& worker : assessment.candidates)
    sizes.push_back(worker.device.memory_bytes);
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  const auto wanted = static_cast<size_t>(assessment.job.devices);
  return wanted >= 1 && sizes.size() >= wanted ? sizes[wanted - 1] : 0;
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

void Predict(Assessment* assessment) {
  const job::DeviceKind kind = KindOf(assessment->candidates);
  assessment->prediction = job::EstimateMemoryOn(assessment->job, *assessment->inspection, kind, 0);
  assessment->candidates = WithRoom(*assessment);
  assessment->prediction = job::EstimateMemoryOn(assessment->job, *assessment->inspection, kind,
                                                 DeviceBytes(*assessment));
}

// Whether they have ended only the coordinator knows: AssessAll asks.
std::vector<std::string> OwnersOf(const std::optional<job::Inspection>& inspection) {
  if (!inspection || !inspection->output || !inspection->output->owner) return {};
  return {inspection->output->owner->job};
}

// As the coordinator will decide.
void TakeAcceptance(job::Acceptance acceptance, Assessment* assessment) {
  if (acceptance.plan) {
    assessment->split = acceptance.plan->split;
    assessment->sequences = acceptance.plan->sequences;
    assessment->steps = acceptance.plan->total_steps;
    assessment->notes = std::move(acceptance.plan->notes);
  }
  for (job::Problem& problem : acceptance.problems)
    assessment->site_problems.push_back(std::move(problem));
  for (const job::Overridable& fault : acceptance.overridden) {
    assessment->notes.push_back(fault.consequence + ": expected " + fault.problem.expected + "; " +
                                fault.problem.hint);
  }
}

// Of a job that no host would ever run.
void RefuseBarred(const Site& whole_site, const Site& reached, Assessment* assessment) {
  if (whole_site.workers.empty() || !reached.workers.empty()) return;
  assessment->site_problems.push_back(
      {"submit", 0, "", "a worker of the site that lets this user's jobs run", ""});
}

// It ends in its first step, if it is as expected.
void EndInFirstStep(job::TimeEstimate* time) {
  time->training_seconds = time->step_seconds;
  time->total_seconds = time->start_seconds + time->load_seconds + time->step_seconds;
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

void PredictTime(const job::EarlierTimes& earlier, Assessment* assessment) {
  if (!assessment->inspection || assessment->candidates.empty()) return;
  const std::string& device = assessment->device_name;
  const bool holds_gradients =
      assessment->prediction && assessment->prediction->holds_gradients.value_or(false);
  assessment->time =
      job::PredictTime(assessment->job, *assessment->inspection, device, holds_gradients, earlier);
  if (!assessment->time) return;
  if (assessment->job.expect == job::Expect::kOom) EndInFirstStep(&*assessment->time);
  NoteTimeLimit(assessment);
}

base::Result<Assessment> Assess(const job::JobSpec& job,
                                const std::optional<job::Inspection>& inspection,
                                const Site& whole_site, bool force) {
  Reach reach = FindReach(job, whole_site.workers);
  const Site site{whole_site.known, whole_site.id, std::move(reach.workers)};
  Assessment assessment{.job = job::ResolveJob(job),
                        .inspection = inspection,
                        .candidates = MeetingConstraints(job, site),
                        .barred = std::move(reach.barred)};
  RefuseBarred(whole_site, site, &assessment);
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
                      .claimant = {site.id, "", OwnersOf(inspection)}});
  if (!acceptance.ok()) return acceptance.error();
  if (inspection && !acceptance->plan)
    return base::Error{base::Code::kInvalid, "the data have no rows"};
  TakeAcceptance(std::move(*acceptance), &assessment);
  if (inspection) Predict(&assessment);
  if (!assessment.candidates.empty()) {
    assessment.device_name =
        job::DeviceNameOf(assessment.job, assessment.candidates.front().device, Devices(site));
  }
  return assessment;
}

}  // namespace trainctl::client
