// Matrix products of linear layers. On CUDA they run in the operands' dtype with fp32 accumulation;
// on CPU bf16 operands are computed in fp32 (storage stays bf16), where bf16 products are several
// times slower. TF32 is off (Precision 32-true means fp32).
#pragma once

#include <ATen/core/Tensor.h>

#include "worker/rank/ops/parameters.h"

namespace trainctl::ops {

// out [N, out_features] = x [N, in] · weight [out, in]ᵀ; out may be a column slice of a wider
// matrix.
void LinearInto(const at::Tensor& out, const at::Tensor& x, const at::Tensor& weight);
at::Tensor Linear(const at::Tensor& x, const at::Tensor& weight);
// residual + x · weightᵀ; the residual is [N, out], or a bias [out].
at::Tensor LinearResidual(const at::Tensor& x, const at::Tensor& weight,
                          const at::Tensor& residual);

// relu(bias [out] + x · weightᵀ); on CUDA one kernel.
at::Tensor LinearRelu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

// grad [N, out] · weight [out, in] → [N, in].
at::Tensor LinearInputGrad(const at::Tensor& grad, const at::Tensor& weight);

// The same into out, a dense [N, in].
void LinearInputGradInto(const at::Tensor& out, const at::Tensor& grad, const at::Tensor& weight);

// out = scale · a · b, and out += a · b; out may be a column slice of a wider matrix.
void ScaledProductInto(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b,
                       double scale);
void AddProduct(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b);

// target.view = beta · target.view + gradᵀ · x; the view may be fp32 under bf16 factors, or
// undefined (a frozen weight): then nothing.
void LinearWeightGrad(const at::Tensor& grad, const at::Tensor& x, const GradView& target);

// view = beta · view + value, cast to the view's dtype.
void AccumulateInto(const GradView& target, const at::Tensor& value);

}  // namespace trainctl::ops
