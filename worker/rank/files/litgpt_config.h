// model_config.yaml of a LitGPT directory → the model's shape: the fields of litgpt.Config (LitGPT
// 0.4 to 0.5), which save_config writes all. An absent field has LitGPT's default. What is not
// LLaMA is refused by name, never ignored: a parallel residual, LayerNorm, biases, other MLPs,
// rotations of a part of the head or scaled ones; normalized or capped scores, windows, experts;
// fields of later versions that are set. LitGPT keeps the head as a tensor of its own, so that it
// is never tied.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/model/model_shape.h"

namespace trainctl::files {

constexpr char kLitGptConfigFile[] = "model_config.yaml";

// Without the ids of tokens, which the file does not have: those are LLaMA's 1 and 2. source stands
// in messages. kInvalid: not YAML, a field that is missing, of a wrong type or range, or refused:
// the message names source, field, value and what was expected.
base::Result<job::ModelShape> ParseLitGptConfig(std::string_view text, const std::string& source);

}  // namespace trainctl::files
