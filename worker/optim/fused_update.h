// The fused CUDA updates of worker/ops/fused.h over at::Tensor: one pass over master, gradient, moments and compute copy.
#pragma once

#include "worker/optim/optimizer.h"

namespace trainctl::optim {

void FusedAdamW(const job::OptimizerSpec& spec, const FlatUpdate& flat, const at::Tensor& first, const at::Tensor& second,
                const StepRates& rates);
// momentum may be undefined: none.
void FusedSgd(const job::OptimizerSpec& spec, const FlatUpdate& flat, const at::Tensor& momentum, const StepRates& rates);

}  // namespace trainctl::optim
