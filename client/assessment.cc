#include "client/assessment.h"

#include <algorithm>
#include <utility>

#include "client/format.h"
#include "common/job/check_job.h"
#include "common/job/run_plan.h"

namespace trainctl::client {
namespace {

bool IsCuda(const SiteWorker& worker) { return worker.device.kind == "cuda"; }

// Devices of one kind that meet the constraints; GPUs where there are enough of them, else CPU slots.
std::vector<SiteWorker> Candidates(const job::JobSpec& job, const Site& site) {
  std::vector<SiteWorker> gpus, slots;
  std::string reason;
  for (const SiteWorker& worker : site.workers) {
    if (job::MeetsConstraints(job, worker.device, &reason)) (IsCuda(worker) ? gpus : slots).push_back(worker);
  }
  return static_cast<int64_t>(gpus.size()) >= job.devices || slots.empty() ? gpus : slots;
}

job::DeviceKind KindOf(const std::vector<SiteWorker>& candidates) {
  return candidates.empty() || IsCuda(candidates.front()) ? job::DeviceKind::kCuda : job::DeviceKind::kCpu;
}

int64_t LargestDevice(const std::vector<SiteWorker>& candidates) {
  int64_t largest = 0;
  for (const SiteWorker& worker : candidates) largest = std::max(largest, worker.device.memory_bytes);
  return largest;
}

// A limit that the job sets itself is an experiment (what happens at 80 GB?), so exceeding it is only noted; no device of the site being
// large enough is a refusal, unless the job expects just that.
void CheckFit(Assessment* assessment) {
  const int64_t largest = LargestDevice(assessment->candidates);
  if (!assessment->prediction || largest == 0 || assessment->job.expect == job::Expect::kOom) return;
  const int64_t peak = assessment->prediction->peak_allocated;
  if (peak > largest) {
    assessment->site_problems.push_back({"train.micro_batch_size", 0, "",
                                         "at most " + FormatMemory(largest) + " a device, the largest of this site",
                                         "predicted peak " + FormatMemory(peak) +
                                             "; trainctl explain oom says what helps, and \"expect\": \"OOM\" "
                                             "submits it all the same"});
    return;
  }
  const std::optional<int64_t>& limit = assessment->job.resources.gpu_memory_limit_bytes;
  if (limit && peak > *limit) {
    assessment->notes.push_back("predicted peak " + FormatMemory(peak) + " exceeds resources.gpu_memory_limit " + FormatMemory(*limit) +
                                ": it will probably end OOM_GPU");
  }
}

void CheckAgainstSite(const Site& site, Assessment* assessment) {
  std::vector<job::SiteDevice> devices;
  for (const SiteWorker& worker : site.workers) devices.push_back(worker.device);
  assessment->site_problems = job::CheckSite(assessment->job, devices);
  if (assessment->site_problems.empty()) CheckFit(assessment);
}

}  // namespace

base::Result<Assessment> Assess(const job::JobSpec& job, const std::optional<job::Inspection>& inspection, const Site& site) {
  Assessment assessment{.job = job::ResolveJob(job), .inspection = inspection, .candidates = Candidates(job, site)};
  const base::Result<job::BatchPlan> batch = job::PlanBatch(assessment.job);
  if (!batch.ok()) return batch.error();
  assessment.batch = *batch;
  if (inspection) {
    base::Result<job::RunPlan> plan = job::PlanRun(job, inspection->rows);
    if (!plan.ok()) return plan.error();
    assessment.split = plan->split;
    assessment.steps = plan->total_steps;
    assessment.notes = std::move(plan->notes);
    assessment.prediction = job::EstimateMemory(assessment.job, *inspection, KindOf(assessment.candidates));
  }
  if (!site.workers.empty()) CheckAgainstSite(site, &assessment);
  return assessment;
}

int64_t MemoryLimit(const job::JobSpec& job, const job::SiteDevice& device) {
  const int64_t limit = job.resources.gpu_memory_limit_bytes.value_or(device.memory_bytes);
  return device.memory_bytes > 0 ? std::min(limit, device.memory_bytes) : limit;
}

}  // namespace trainctl::client
