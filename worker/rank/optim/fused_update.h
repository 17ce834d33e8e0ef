// The fused CUDA updates of worker/rank/ops/fused.h over at::Tensor: one pass over master,
// gradient, moments and compute copy.
#pragma once

#include "worker/rank/optim/optimizer.h"

namespace trainctl::ops::fused {
struct AdamWStep;
}

namespace trainctl::optim {

ops::fused::AdamWStep AdamWStepOf(const job::OptimizerSpec& spec, const StepRates& rates);

// The moments: of the parameters' dtype, or fp32.
void FusedAdamW(const job::OptimizerSpec& spec, const FlatUpdate& flat, const at::Tensor& first,
                const at::Tensor& second, const StepRates& rates);

// bf16 or fp32 parameters; the flat buffers are whole blocks of 256.
struct EightBitState {
  at::Tensor first, second;                // codes
  at::Tensor first_absmax, second_absmax;  // one for each block
  at::Tensor tables;                       // ops::DynamicTables
};
void FusedAdamW8bit(const job::OptimizerSpec& spec, const FlatUpdate& flat,
                    const EightBitState& state, const StepRates& rates);

// momentum may be undefined: none.
void FusedSgd(const job::OptimizerSpec& spec, const FlatUpdate& flat, const at::Tensor& momentum,
              const StepRates& rates);

}  // namespace trainctl::optim
