// Which parts of a model a job leaves as they are. Pure, thread-safe.
#pragma once

#include <algorithm>

#include "common/job/job.h"
#include "common/model/model_description.h"

namespace trainctl::job {

// The part's own weights: under lora all are frozen, and adapters stand beside them.
inline bool IsFrozen(const JobSpec& job, ModelPart part) {
  return job.lora ||
         std::find(job.freeze.begin(), job.freeze.end(), Name(part)) != job.freeze.end();
}

}  // namespace trainctl::job
