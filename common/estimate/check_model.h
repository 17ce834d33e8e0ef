// The check of a job against the model that was inspected: what can only be known once its
// config.json was read. Pure, thread-safe.
#pragma once

#include <vector>

#include "common/job/job.h"
#include "common/json/problem.h"
#include "common/model/model_shape.h"

namespace trainctl::job {

// lora.targets that name the head of a model whose head is its embedding; rows longer than the
// model's sliding window, or than what its rotary scaling leaves as it is.
std::vector<Problem> CheckModel(const JobSpec& job, const ModelShape& model);

}  // namespace trainctl::job
