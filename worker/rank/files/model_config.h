// config.json of a Hugging Face directory → the model's shape: LLaMA, Mistral, Qwen 2 and Qwen 3,
// each a row of the table in model_config.cc; OPT (opt_config.h); BLIP-2 with OPT (blip2_config.h).
// Both dialects: rope_theta + torch_dtype (transformers 4) and rope_parameters {rope_theta,
// rope_type} + dtype (transformers 5). Absent optional keys have transformers' defaults of their
// family; of a list of eos ids the first is taken. What the engine does not compute is refused by
// name, never ignored: other architectures and activations, dropout of attention, quantized
// weights. A directory without config.json is LitGPT's where it has a model_config.yaml
// (litgpt_config.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/model/model_shape.h"

namespace trainctl::files {

inline constexpr size_t kMaxConfigBytes = 1 << 20;  // of a config.json

// Errors: kNotFound (no directory, neither of the files), kIo, kInvalid. kInvalid: not JSON or
// YAML, or a key that is missing, of a wrong type or range, or refused. The message names file,
// key, value and what was expected.
base::Result<job::ModelShape> ReadModelConfig(const std::string& directory);

// The same of a text in memory; source stands in messages.
base::Result<job::ModelShape> ParseModelConfig(std::string_view text, const std::string& source);

// The config.json of a model that came without one; ParseModelConfig gives the same shape.
std::string ModelConfigText(const job::ModelShape& shape);

}  // namespace trainctl::files
