// The cosines and sines of the rotary embedding (Su et al. 2021), with the changes of their
// frequencies for longer texts: linear, llama3 (Dubey et al. 2024), YaRN (Peng et al. 2023).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "common/model/model_shape.h"

namespace trainctl::model {

struct RotaryTables {
  at::Tensor cos, sin;  // [length, head_dim / 2] fp32, on the CPU
};

RotaryTables MakeRotaryTables(const job::ModelShape& shape, int64_t length);

}  // namespace trainctl::model
