// The check of a job against the model that was inspected: what can only be known once its
// config.json was read. Pure, thread-safe.
#pragma once

#include <vector>

#include "common/job/job.h"
#include "common/json/problem.h"
#include "common/model/model_shape.h"

namespace trainctl::job {

// lora.targets that name the head of a model whose head is its embedding; those that name a layer
// that the model does not have. Parts in freeze that it does not have, or all of them. Rows longer
// than its learned positions. Matrices to be quantized whose elements are not a multiple of 64.
std::vector<Problem> CheckModel(const JobSpec& job, const ModelShape& model);

}  // namespace trainctl::job
