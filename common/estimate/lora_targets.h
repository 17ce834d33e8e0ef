// Which matrices a LoRA job adapts. Pure, thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/job/job.h"
#include "common/model/model_shape.h"

namespace trainctl::job {

// One adapted matrix, [out, in] as Hugging Face stores it; its adapters are A [r, in] and B [out,
// r].
struct LoraTarget {
  std::string_view name;  // q k v o gate up down head, or of the encoder: vision.qkv
  int64_t in = 0;
  int64_t out = 0;
  int64_t encoder_unit = -1;  // of ModelDescription::encoder; −1: of each block, or of the head
  int64_t positions = 0;      // of a sample that it is given; 0: all of its unit
};

// The targets named, or all; in the order above, then those of the encoder's units. The head is
// left out where it is tied to the embedding (naming it there is a problem of check_model.h).
std::vector<LoraTarget> LoraTargets(const LoraSpec& lora, const ModelShape& shape);

// Their names, each once: what an empty lora.targets stands for.
std::vector<std::string> TargetsInForce(const LoraSpec& lora, const ModelShape& shape);

}  // namespace trainctl::job
