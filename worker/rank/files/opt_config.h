// The config.json of OPT → the model's shape. Refused by name: norms behind the blocks and narrower
// embeddings (opt-350m), activations other than ReLU, dropout of attention, layerdrop.
#pragma once

#include "common/model/model_shape.h"
#include "worker/rank/files/json_object.h"

namespace trainctl::files {

job::ModelShape ReadOptShape(const JsonObject& config);

// A share from 0, and below 1.
double ReadShare(const JsonObject& config, const std::string& key, double absent);

}  // namespace trainctl::files
