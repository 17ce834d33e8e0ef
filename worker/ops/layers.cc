#include "worker/ops/layers.h"

#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "worker/ops/matmul.h"

namespace trainctl::ops {
namespace {

// The column slices of a side-by-side output that belong to each weight.
at::Tensor Columns(const at::Tensor& packed, int64_t first, int64_t count) {
  return packed.size(1) == count ? packed : packed.narrow(1, first, count);
}

at::Tensor LinearSideBySide(Context& context, const at::Tensor& x, const std::vector<ParamId>& weights) {
  if (weights.size() == 1) return Linear(x, context.params.Weight(weights[0]));
  int64_t width = 0;
  for (const ParamId weight : weights) width += context.params.Weight(weight).size(0);
  const at::Tensor out = at::empty({x.size(0), width}, x.options());
  int64_t column = 0;
  for (const ParamId id : weights) {
    const at::Tensor weight = context.params.Weight(id);
    LinearInto(Columns(out, column, weight.size(0)), x, weight);
    column += weight.size(0);
  }
  return out;
}

}  // namespace

Var Embedding(Context& context, ParamId table, const at::Tensor& ids) {
  Var out = context.tape.Output(at::embedding(context.params.Weight(table), ids));
  context.tape.Record([context, table, ids, slot = Var{{}, out.slot}]() mutable {
    context.kernels.EmbeddingBackward(context.tape.TakeGrad(slot), ids, context.params.Grad(table));
  });
  return out;
}

Var NormLinear(Context& context, const Var& x, ParamId norm, const std::vector<ParamId>& weights) {
  auto [normalized, rstd] = context.kernels.RmsNorm(x.value, context.params.Weight(norm), context.norm_eps);
  Var out = context.tape.Output(LinearSideBySide(context, normalized, weights));
  context.tape.Record([context, x, norm, weights, rstd, slot = Var{{}, out.slot}]() mutable {
    const at::Tensor grad = context.tape.TakeGrad(slot);
    at::Tensor normalized_grad;
    int64_t column = 0;
    for (const ParamId id : weights) {
      const at::Tensor weight = context.params.Weight(id);
      normalized_grad = LinearInputGrad(Columns(grad, column, weight.size(0)), weight, normalized_grad);
      column += weight.size(0);
    }
    const NormBackward back = context.kernels.RmsNormBackward(normalized_grad, x.value, context.params.Weight(norm), rstd,
                                                              context.tape.TakeGrad(x), context.params.Grad(norm));
    context.tape.PutGrad(x, back.input_grad);
    column = 0;
    for (const ParamId id : weights) {
      const GradView target = context.params.Grad(id);
      LinearWeightGrad(Columns(grad, column, target.view.size(0)), back.normalized, target);
      column += target.view.size(0);
    }
  });
  return out;
}

Var SelfAttention(Context& context, const Var& qkv, const at::Tensor& cos, const at::Tensor& sin, const HeadShape& shape) {
  context.kernels.Rope(qkv.value, cos, sin, shape);
  auto [rows, saved] = Attention(qkv.value, shape, context.deterministic);
  Var out = context.tape.Output(rows);
  context.tape.Record([context, qkv, cos, sin, shape, saved = std::move(saved), slot = Var{{}, out.slot}]() mutable {
    const AttentionGrads grads = AttentionBackward(context.tape.TakeGrad(slot), qkv.value, saved, shape);
    context.tape.PutGrad(qkv, context.kernels.RopeBackward(grads.q, grads.k, grads.v, cos, sin, shape));
  });
  return out;
}

Var LinearResidual(Context& context, const Var& x, ParamId weight, const Var& residual) {
  Var out = context.tape.Output(LinearResidual(x.value, context.params.Weight(weight), residual.value));
  context.tape.Record([context, x, weight, residual = Var{{}, residual.slot}, slot = Var{{}, out.slot}]() mutable {
    const at::Tensor grad = context.tape.TakeGrad(slot);
    context.tape.PutGrad(residual, grad);
    context.tape.PutGrad(x, LinearInputGrad(grad, context.params.Weight(weight)));
    LinearWeightGrad(grad, x.value, context.params.Grad(weight));
  });
  return out;
}

Var SwiGluLinearResidual(Context& context, const Var& gate_up, ParamId weight, const Var& residual) {
  const at::Tensor product = context.kernels.SwiGlu(gate_up.value);
  Var out = context.tape.Output(LinearResidual(product, context.params.Weight(weight), residual.value));
  context.tape.Record([context, gate_up, weight, residual = Var{{}, residual.slot}, slot = Var{{}, out.slot}]() mutable {
    const at::Tensor grad = context.tape.TakeGrad(slot);
    context.tape.PutGrad(residual, grad);
    const at::Tensor product_grad = LinearInputGrad(grad, context.params.Weight(weight));
    const auto [gate_up_grad, again] = context.kernels.SwiGluBackward(product_grad, gate_up.value);
    context.tape.PutGrad(gate_up, gate_up_grad);
    LinearWeightGrad(grad, again, context.params.Grad(weight));
  });
  return out;
}

}  // namespace trainctl::ops
