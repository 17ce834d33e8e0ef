// The squared norm of flat gradients, for clipping and the grad_norm metric; and of weights, to
// know that they are numbers.
#pragma once

#include <ATen/core/Tensor.h>

namespace trainctl::optim {

// sum (fp64 scalar on the gradient's device) += Σ grad², summed in fp64. Deterministic.
void AddNormSquared(const at::Tensor& grad, const at::Tensor& sum);

}  // namespace trainctl::optim
