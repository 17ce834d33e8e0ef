#include "common/estimate/micro_batch_choice.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/base/size.h"
#include "common/estimate/fit.h"
#include "common/job/batch.h"

namespace trainctl::job {
namespace {

constexpr int64_t kMostWithoutGlobalBatch = 1024;

std::vector<int64_t> Divisors(int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t i = 1; i * i <= number; ++i) {
    if (number % i != 0) continue;
    divisors.push_back(i);
    if (i * i != number) divisors.push_back(number / i);
  }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

// In ascending order; empty where the global batch can't be divided among the devices.
std::vector<int64_t> Candidates(const JobSpec& job, const Inspection& inspection) {
  if (job.train.global_batch_size) {
    return *job.train.global_batch_size % job.devices == 0
               ? Divisors(*job.train.global_batch_size / job.devices)
               : std::vector<int64_t>();
  }
  const int64_t others = job.devices * job.train.accumulate_grad_batches.value_or(1);
  const bool packs = job.train.packing && inspection.packed_sequences > 0;
  const int64_t rows = packs                 ? inspection.packed_sequences
                       : inspection.rows > 0 ? SplitRows(job.data, inspection.rows).train_rows
                                             : kMostWithoutGlobalBatch;
  const int64_t most = std::clamp<int64_t>(rows / others, 1, kMostWithoutGlobalBatch);
  std::vector<int64_t> powers;
  for (int64_t power = 1; power <= most; power *= 2) powers.push_back(power);
  return powers;
}

std::vector<SiteDevice> SiteOf(const JobSpec& job, const std::vector<SiteDevice>& devices) {
  if (!devices.empty() || !job.resources.gpu_memory_limit_bytes) return devices;
  const SiteDevice device = {DeviceKind::kCuda, "", "a device of its gpu_memory_limit",
                             *job.resources.gpu_memory_limit_bytes, "9.0"};
  return std::vector<SiteDevice>(static_cast<size_t>(job.devices), device);
}

}  // namespace

std::string MicroBatchChoice::Text() const {
  std::string text = std::to_string(micro_batch_size);
  if (!FitsSafely(peak_bytes, limit_bytes)) {
    return text + " is the smallest: " + base::FormatBytes(peak_bytes) + " predicted, of " +
           base::FormatBytes(limit_bytes);
  }
  text += " fits: " + base::FormatBytes(peak_bytes) + " of " + base::FormatBytes(limit_bytes) +
          " predicted";
  if (!next_micro_batch_size) return text + "; it is the largest that the batch allows";
  return text + "; " + std::to_string(*next_micro_batch_size) + " would need " +
         base::FormatBytes(next_peak_bytes);
}

base::Result<MicroBatchChoice> ChooseMicroBatch(const JobSpec& asked, const Inspection& inspection,
                                                const std::vector<SiteDevice>& devices) {
  const std::vector<int64_t> candidates = Candidates(asked, inspection);
  if (candidates.empty())
    return base::Error{base::Code::kInvalid, "train.global_batch_size is no multiple of devices"};
  const std::vector<SiteDevice> site = SiteOf(asked, devices);
  MicroBatchChoice choice;
  for (const int64_t candidate : candidates) {
    JobSpec job = asked;
    job.train.micro_batch_size = candidate;
    const std::optional<Fit> fit = BestFit(job, inspection, site);
    if (!fit) {
      return base::Error{base::Code::kInvalid,
                         "it is chosen by the memory of the site's devices, of which none that "
                         "this job could use is known; give a number"};
    }
    if (candidate > candidates.front() && !FitsSafely(fit->peak_bytes, fit->limit_bytes)) {
      if (choice.next_micro_batch_size) continue;
      choice.next_micro_batch_size = candidate;
      choice.next_peak_bytes = fit->peak_bytes;
      continue;  // a larger one may: without accumulation gradients are not held
    }
    choice = {.job = job,
              .micro_batch_size = candidate,
              .peak_bytes = fit->peak_bytes,
              .limit_bytes = fit->limit_bytes};
  }
  return choice;
}

std::optional<JobSpec> WithSmallerMicroBatch(const JobSpec& job) {
  const base::Result<BatchPlan> batch = PlanBatch(job);
  CHECK(batch.ok()) << batch.error().message;
  if (batch->micro == 1) return std::nullopt;
  const int64_t rows = batch->micro * batch->accumulation;  // of one device's step
  int64_t smaller = batch->micro / 2;
  while (rows % smaller != 0) --smaller;
  JobSpec smaller_job = job;
  smaller_job.train.micro_batch_size = smaller;
  if (!job.train.global_batch_size) smaller_job.train.accumulate_grad_batches = rows / smaller;
  return smaller_job;
}

}  // namespace trainctl::job
