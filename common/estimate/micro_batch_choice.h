// "micro_batch_size": "auto": the largest micro batch that fits by estimate, the global batch kept
// by fewer accumulation steps; and what is tried after one that did not fit. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/estimate/inspection.h"
#include "common/job/job.h"
#include "common/job/site.h"

namespace trainctl::job {

struct MicroBatchChoice {
  JobSpec job;  // with the number in the place of "auto"
  int64_t micro_batch_size = 1;
  int64_t peak_bytes = 0;   // predicted
  int64_t limit_bytes = 0;  // of the device
  std::optional<int64_t>
      next_micro_batch_size;  // the next larger that was possible, which does not fit
  int64_t next_peak_bytes = 0;

  // "16 fits: 61.20 GiB of 74.51 GiB predicted; 32 would need 98.10 GiB".
  std::string Text() const;
};

// Of the divisors of global_batch_size / devices; without a global batch, of the powers of two of
// which the training rows fill a step: the largest that leaves the margin of fit.h on the roomiest
// devices of the site; the smallest where none does (CheckFit then says so). A site without devices
// counts as one of the job's own gpu_memory_limit. kInvalid: neither is known, or the batch can't
// be divided.
base::Result<MicroBatchChoice> ChooseMicroBatch(const JobSpec& job, const Inspection& inspection,
                                                const std::vector<SiteDevice>& devices);

// The job with the next smaller micro batch, at most half of its own, and the same global batch:
// accumulation makes up for it. nullopt where its own is 1. The job's batches have passed the check
// (batch.h).
std::optional<JobSpec> WithSmallerMicroBatch(const JobSpec& job);

}  // namespace trainctl::job
