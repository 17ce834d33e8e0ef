// The config.json of Blip2ForConditionalGeneration → the model's shape. Its text_config is OPT's.
// Refused by name: T5 and other text models, texts in the Q-Former, activations other than GELU,
// dropout of the vision model's attention.
#pragma once

#include "common/model/model_shape.h"
#include "worker/rank/files/json_object.h"

namespace trainctl::files {

job::ModelShape ReadBlip2Shape(const JsonObject& config);

}  // namespace trainctl::files
