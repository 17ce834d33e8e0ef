// The ops that models are written in: each computes its value and records its backward on the tape.
// What each saves for its backward is said, since that is what activations cost. N = batch × length
// rows.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <vector>

#include "worker/rank/ops/attention.h"
#include "worker/rank/ops/context.h"
#include "worker/rank/ops/kv_cache.h"
#include "worker/rank/ops/linear.h"

namespace trainctl::ops {

// Runs body as one use of a unit: the strategy's BeginUnit and EndUnit around its forward and, in
// reverse order, around its backward. With recompute only the input is saved, and the body runs
// again before its backward. A unit with nothing to train has no backward, and saves nothing, if
// its input's gradient is not wanted.
Var InUnit(Context& context, UnitId unit, const Var& input, bool recompute,
           const std::function<Var(Context&, const Var&)>& body);
// The same of several inputs.
using Vars = std::vector<Var>;
Var InUnit(Context& context, UnitId unit, const Vars& inputs, bool recompute,
           const std::function<Var(Context&, const Vars&)>& body);

// ids [N] → rows of the table [N, H]. Saves ids. frozen: the table is, and no gradient of the rows
// is wanted.
Var Embedding(Context& context, ParamId table, const at::Tensor& ids, bool frozen = false);

// The rows that are added for each position of a sample.
struct LearnedPositions {
  ParamId table = 0;  // [rows, H]
  at::Tensor rows;    // [length] int64: of the table, by position
};
// Their sum with the rows of the tokens. Both tables are frozen, or neither is. Where `leading` has
// a value [batch · n, H], its rows stand for those of each sample's first n tokens.
Var PositionedEmbedding(Context& context, ParamId table, const at::Tensor& ids,
                        const LearnedPositions& positions, bool frozen = false,
                        const Var& leading = {});

// The linear layer of norm(x): [N, Σ out]. Saves x, the norm's statistics and what LinearUse keeps;
// the normalized input is computed again.
Var NormLinear(Context& context, const Var& x, const NormParams& norm, const LinearParams& linear);
// relu of the same, for ReluLinearResidual: the gradient of its value is that before the relu.
Var NormLinearRelu(Context& context, const Var& x, const NormParams& norm,
                   const LinearParams& linear);

// RMSNorm of each head of q and of each head of k, before their rotation. Weights [D].
struct HeadNorms {
  ParamId q = 0;
  ParamId k = 0;
};

// Normalizes and rotates qkv in place, attends. Saves qkv, the output and its logsumexp; with norms
// also q and k as they were, and rstd of each of their heads. cos and sin undefined: no rotation.
// With a cache, rows attend to the earlier positions of their texts too; nothing is recorded then.
Var SelfAttention(Context& context, const Var& qkv, const at::Tensor& cos, const at::Tensor& sin,
                  const HeadShape& shape, const std::optional<HeadNorms>& norms = {},
                  const CachedLayer& cached = {});

// What a layer's output loses before it is added to the residual. Its mask is not saved.
struct OutputDropout {
  double probability = 0;
  uint32_t module = 0;  // by which it is counted; adapters have others
};

// residual + dropout(linear(x)). Saves x (not where the layer is frozen and has no adapters) and
// what LinearUse keeps.
Var LinearResidual(Context& context, const Var& x, const LinearParams& linear, const Var& residual,
                   const OutputDropout& dropout = {});

// residual + linear(silu(gate) · up). Saves gate_up and what LinearUse keeps; the product is
// computed again. Ends a unit: nobody saves its value, so a recomputation leaves it undefined.
Var SwiGluLinearResidual(Context& context, const Var& gate_up, const LinearParams& linear,
                         const Var& residual);

// residual + dropout(linear(x)) of x = relu(y); the gradient that it gives is y's. Saves x and what
// LinearUse keeps. Ends a unit, as the former does.
Var ReluLinearResidual(Context& context, const Var& x, const LinearParams& linear,
                       const Var& residual, const OutputDropout& dropout = {});

// The end of a language model: norm, head, cross entropy against targets [N] (−100: ignored), in
// chunks of rows, so that whole logits never exist; gradients are made in the same pass, at the
// start of the backward. Saves x.
struct HeadLoss {
  NormParams norm;
  LinearParams head;
  std::vector<UnitId> units;  // that hold them, begun in order
  at::Tensor targets;         // [N] int64
  at::Tensor loss_sum;  // fp64 scalar: the rows' losses are added to it, in the backward or, where
                        // nothing is recorded, at once
  double grad_scale = 1;  // 1 / tokens of the global batch
};
void NormHeadLoss(Context& context, const Var& x, const HeadLoss& loss);
// The same end without a loss, of rows x [n, H]: their logits [n, V]. Nothing is recorded.
at::Tensor NormHeadLogits(Context& context, const at::Tensor& x, const HeadLoss& head);

}  // namespace trainctl::ops
