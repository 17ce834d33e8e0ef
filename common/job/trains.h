// Whether a job trains, and what. One with train.max_steps 0 does not: its model continues
// eval.prompts as it is, on one device, and its data are not read. Pure.
#pragma once

#include "common/job/job.h"

namespace trainctl::job {

inline bool Trains(const JobSpec& job) { return job.train.max_steps != 0; }

// Whether no weight stays as it was: a checkpoint has them all.
inline bool TrainsEveryWeight(const JobSpec& job) {
  return Trains(job) && !job.lora && job.freeze.empty();
}

}  // namespace trainctl::job
