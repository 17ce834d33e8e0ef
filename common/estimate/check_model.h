// The check of a job against the model that was inspected: what can only be known once its
// config.json was read. Pure, thread-safe.
#pragma once

#include <vector>

#include "common/estimate/model_shape.h"
#include "common/job/job.h"
#include "common/json/problem.h"

namespace trainctl::job {

// lora.targets that name the head of a model whose head is its embedding.
std::vector<Problem> CheckModel(const JobSpec& job, const ModelShape& model);

}  // namespace trainctl::job
