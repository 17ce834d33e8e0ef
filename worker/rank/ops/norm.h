// The two norms over the last dimension, H: RMSNorm (Zhang and Sennrich 2019), x / rms(x) · weight;
// and with a bias LayerNorm (Ba et al. 2016), (x − mean(x)) / σ(x) · weight + bias.
#pragma once

#include <ATen/core/Tensor.h>

#include "worker/rank/ops/parameters.h"

namespace trainctl::ops {

// How a model names a norm's vectors. Without a bias it is RMSNorm.
struct NormParams {
  NormParams(ParamId weight = 0, ParamId bias = -1)  // NOLINT: a weight alone is a norm
      : weight(weight), bias(bias) {}

  ParamId weight;
  ParamId bias;  // −1: none
};

struct NormVectors {
  at::Tensor weight, bias = {};  // [H]

  bool centers() const { return bias.defined(); }
};

// Of each row, fp32.
struct NormStatistics {
  at::Tensor rstd;       // [N] 1 / rms, or 1 / σ
  at::Tensor mean = {};  // [N]; of LayerNorm only
};

struct NormOutput {
  at::Tensor value;  // [N, H]
  NormStatistics statistics;
};

// Where the gradients of its vectors go. Undefined views: not wanted.
struct NormGradViews {
  GradView weight, bias = {};
};

struct NormGrads {
  at::Tensor input;       // [N, H], the residual's gradient included
  at::Tensor normalized;  // [N, H], the forward's output again, for the weight gradient behind it;
                          // undefined where not wanted
};

inline NormVectors VectorsOf(ParameterAccess& params, const NormParams& norm) {
  return {params.Weight(norm.weight), norm.bias < 0 ? at::Tensor() : params.Weight(norm.bias)};
}

// One addition to each.
inline NormGradViews GradsOf(ParameterAccess& params, const NormParams& norm) {
  return {params.Grad(norm.weight), norm.bias < 0 ? GradView() : params.Grad(norm.bias)};
}

}  // namespace trainctl::ops
