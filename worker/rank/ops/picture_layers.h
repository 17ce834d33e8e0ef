// The ops that models of pictures are written in beside those of layers.h, in the same manner.
#pragma once

#include <ATen/core/Tensor.h>

#include "worker/rank/ops/layers.h"

namespace trainctl::ops {

// The rows of a vision transformer (Dosovitskiy et al. 2021): that of the class, then one a patch.
// To each its position's is added.
struct PatchEmbedding {
  ParamId class_row = 0;  // [1, H]
  ParamId positions = 0;  // [1 + patches, H]
  LinearParams patches;   // of 3 · side² pixels, by color, row, column
  int64_t side = 0;       // of a patch, in pixels
};
// images [batch, 3, height, width] fp32 → [batch · (1 + patches), H]. Saves images.
Var EmbedPatches(Context& context, const PatchEmbedding& embedding, const at::Tensor& images);

// dropout(norm(rows)) of learned rows [n, H], for each of `batch` samples: [batch · n, H]. Saves
// the norm's statistics.
Var EmbedQueries(Context& context, ParamId rows, const NormParams& norm, int64_t batch,
                 const OutputDropout& dropout);

// norm(x). Saves x and the statistics.
Var Norm(Context& context, const Var& x, const NormParams& norm);

// linear(x). Saves x, and what LinearUse keeps.
Var Linear(Context& context, const Var& x, const LinearParams& linear);

// residual + linear(gelu(x)), gelu as the error function has it (Hendrycks and Gimpel 2016). Saves
// x and what LinearUse keeps; gelu(x) is computed again. Ends a unit, as SwiGluLinearResidual does.
Var GeluLinearResidual(Context& context, const Var& x, const LinearParams& linear,
                       const Var& residual);

// norm(residual + dropout(linear(x))), as in BERT (Devlin et al. 2019). Saves x (not where the
// layer is frozen and has no adapters), the sum, its statistics and what LinearUse keeps.
Var LinearResidualNorm(Context& context, const Var& x, const LinearParams& linear,
                       const Var& residual, const NormParams& norm, const OutputDropout& dropout);
// The same of linear(gelu(x)). Saves x itself.
Var GeluLinearResidualNorm(Context& context, const Var& x, const LinearParams& linear,
                           const Var& residual, const NormParams& norm,
                           const OutputDropout& dropout);

// q [batch · queries, heads · D], key_value [batch · keys, 2 · heads · D] → [batch · queries,
// heads · D]. The probabilities are subject to dropout. For few queries: saves q, key_value and the
// probabilities.
Var CrossAttention(Context& context, const Var& q, const Var& key_value, const CrossShape& shape,
                   const OutputDropout& dropout);

}  // namespace trainctl::ops
