// rope_theta and the scaling of rotary frequencies in a config.json, of either dialect:
// "rope_scaling" beside "rope_theta" (transformers 4), or "rope_parameters" (transformers 5).
#pragma once

#include "common/model/model_shape.h"
#include "worker/rank/files/json_object.h"

namespace trainctl::files {

// Into shape.rope_theta and shape.rope_scaling; shape.max_positions is read already. Types linear,
// dynamic, llama3 and yarn; others are refused by name.
void ReadRope(const JsonObject& config, job::ModelShape* shape);

}  // namespace trainctl::files
