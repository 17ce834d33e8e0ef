// Which parts of a model a job leaves as they are. Pure, thread-safe.
#pragma once

#include <algorithm>

#include "common/job/job.h"
#include "common/job/trains.h"
#include "common/model/model_description.h"

namespace trainctl::job {

// The part's own weights: under lora all are frozen, and adapters stand beside them. So are all of
// a job that does not train, with the adapters.
inline bool IsFrozen(const JobSpec& job, ModelPart part) {
  return !Trains(job) || job.lora ||
         std::find(job.freeze.begin(), job.freeze.end(), Name(part)) != job.freeze.end();
}

}  // namespace trainctl::job
