// Whether a job trains. One with train.max_steps 0 does not: its model continues eval.prompts as it
// is, on one device, and its data are not read. Pure.
#pragma once

#include "common/job/job.h"

namespace trainctl::job {

inline bool Trains(const JobSpec& job) { return job.train.max_steps != 0; }

}  // namespace trainctl::job
