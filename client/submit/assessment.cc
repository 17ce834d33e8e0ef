#include "client/submit/assessment.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "common/estimate/check_model.h"
#include "common/estimate/fit.h"
#include "common/estimate/gradient_holding.h"
#include "common/estimate/micro_batch_choice.h"
#include "common/job/check_job.h"
#include "common/job/run_plan.h"

namespace trainctl::client {
namespace {

bool IsCuda(const SiteWorker& worker) { return worker.device.kind == "cuda"; }

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

base::Status Predict(Assessment* assessment) {
  base::Result<job::RunPlan> plan = job::PlanRun(assessment->job, assessment->inspection->rows);
  if (!plan.ok()) return plan.error();
  assessment->split = plan->split;
  assessment->steps = plan->total_steps;
  assessment->notes = std::move(plan->notes);
  const job::DeviceKind kind = KindOf(assessment->candidates);
  assessment->prediction = job::EstimateMemoryOn(assessment->job, *assessment->inspection, kind, 0);
  assessment->candidates = WithRoom(*assessment);
  assessment->prediction = job::EstimateMemoryOn(assessment->job, *assessment->inspection, kind,
                                                 DeviceBytes(*assessment));
  return base::Ok{};
}

void CheckFit(const std::vector<job::SiteDevice>& devices, bool force, Assessment* assessment) {
  for (job::Problem& problem : job::CheckFit(assessment->job, *assessment->inspection, devices)) {
    if (force) {
      assessment->notes.push_back("it will probably end OOM_GPU: expected " + problem.expected +
                                  "; " + problem.hint);
    } else {
      assessment->site_problems.push_back(std::move(problem));
    }
  }
}

void CheckAgainstSite(const Site& site, bool force, Assessment* assessment) {
  std::vector<job::Problem>& problems = assessment->site_problems;
  const std::vector<job::SiteDevice> devices = Devices(site);
  const auto add = [&](std::vector<job::Problem> found) {
    problems.insert(problems.end(), found.begin(), found.end());
  };
  if (!devices.empty()) add(job::CheckSite(assessment->job, devices));
  if (!assessment->inspection) return;
  add(job::CheckModel(assessment->job, assessment->inspection->model));
  if (const std::optional<job::OutputFolder>& output = assessment->inspection->output) {
    if (auto taken = job::CheckOutputFolder(assessment->job, *output, site.id, ""))
      problems.push_back(std::move(*taken));
  }
  if (problems.empty()) CheckFit(devices, force, assessment);
}

}  // namespace

void PredictTime(const std::vector<EarlierRuns>& earlier, Assessment* assessment) {
  if (!assessment->inspection || assessment->candidates.empty()) return;
  const std::string& device = assessment->candidates.front().device.name;
  const bool holds_gradients =
      assessment->prediction && assessment->prediction->holds_gradients.value_or(false);
  assessment->time =
      job::EstimateTime(assessment->job, *assessment->inspection, device, holds_gradients);
  for (const EarlierRuns& runs : earlier) {
    if (runs.device_name != device || runs.runs < 1) continue;
    assessment->time = job::EstimateTimeFromRuns(assessment->job, *assessment->inspection, device,
                                                 runs.step_seconds, runs.runs);
  }
}

base::Result<Assessment> Assess(const job::JobSpec& job,
                                const std::optional<job::Inspection>& inspection, const Site& site,
                                bool force) {
  Assessment assessment{.job = job::ResolveJob(job),
                        .inspection = inspection,
                        .candidates = MeetingConstraints(job, site)};
  ChooseMicroBatch(site, &assessment);
  const base::Result<job::BatchPlan> batch = job::PlanBatch(assessment.job);
  if (!batch.ok()) return batch.error();
  assessment.batch = *batch;
  if (inspection) {
    if (const base::Status predicted = Predict(&assessment); !predicted.ok())
      return predicted.error();
  }
  CheckAgainstSite(site, force, &assessment);
  return assessment;
}

}  // namespace trainctl::client
