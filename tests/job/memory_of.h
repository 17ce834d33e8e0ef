// The memory of a job of micro batches of 8 at the phases of a step, for tests.
#pragma once

#include "common/estimate/memory_estimate.h"
#include "tests/job/tiny_llama.h"
#include "tests/job/valid_job.h"

namespace trainctl::job {

inline JobSpec JobOfEight() {
  JobSpec job = SmallestJob();
  job.train.micro_batch_size = 8;
  return job;
}

inline MemoryEstimate Estimated(const JobSpec& job,
                                const Inspection& inspection = tiny_llama::TinyLlama(),
                                DeviceKind device = DeviceKind::kCuda) {
  return EstimateMemory(job, inspection, device);
}

inline const MemoryByKind& AtPhase(const MemoryEstimate& estimate, Phase phase) {
  return estimate.phases[static_cast<size_t>(phase)];
}

}  // namespace trainctl::job
