// The config.json of OPT → the model's shape. Refused by name: norms behind the blocks and narrower
// embeddings (opt-350m), activations other than ReLU, dropout of attention, layerdrop.
#pragma once

#include "common/model/model_shape.h"
#include "worker/rank/files/json_object.h"

namespace trainctl::files {

job::ModelShape ReadOptShape(const JsonObject& config);

}  // namespace trainctl::files
