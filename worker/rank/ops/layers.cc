#include "worker/rank/ops/layers.h"

#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

namespace trainctl::ops {
namespace {

// The norm of neighbouring heads of packed rows, forward and then backward.
class HeadNormUse {
 public:
  HeadNormUse(ParamId norm, int64_t first_head, int64_t heads, const HeadShape& shape)
      : norm_(norm), first_head_(first_head), heads_(heads), shape_(shape) {}

  void Forward(Context& context, const at::Tensor& qkv) {
    const at::Tensor heads = Heads(qkv);
    input_ = Copied(heads);
    auto [normalized, rstd] =
        context.kernels.RmsNorm(input_, context.params.Weight(norm_), context.norm_eps);
    heads.copy_(normalized.view(heads.sizes()));
    rstd_ = rstd;
  }

  // The heads' gradient in qkv_grad becomes that of what they were.
  void Backward(Context& context, const at::Tensor& qkv_grad) const {
    const at::Tensor heads = Heads(qkv_grad);
    const NormBackward back = context.kernels.RmsNormBackward(
        Copied(heads), input_, context.params.Weight(norm_), rstd_, {}, context.params.Grad(norm_),
        /*normalized_wanted=*/false);
    heads.copy_(back.input_grad.view(heads.sizes()));
  }

 private:
  // [N, heads, D]
  at::Tensor Heads(const at::Tensor& packed) const {
    return packed.view({packed.size(0), -1, shape_.head_dim}).narrow(1, first_head_, heads_);
  }
  // [N · heads, D]
  at::Tensor Copied(const at::Tensor& heads) const {
    return heads.clone(at::MemoryFormat::Contiguous).view({-1, shape_.head_dim});
  }

  ParamId norm_;
  int64_t first_head_, heads_;
  HeadShape shape_;
  at::Tensor input_, rstd_;
};

std::vector<HeadNormUse> UsesOf(const std::optional<HeadNorms>& norms, const HeadShape& shape) {
  if (!norms) return {};
  return {{norms->q, 0, shape.heads, shape}, {norms->k, shape.heads, shape.kv_heads, shape}};
}

}  // namespace

Var Embedding(Context& context, ParamId table, const at::Tensor& ids, bool frozen) {
  const at::Tensor rows = at::embedding(context.params.Weight(table), ids);
  if (frozen) return {rows, -1};
  Var out = context.tape.Output(rows);
  context.tape.Record([context, table, ids, slot = Var{{}, out.slot}]() mutable {
    context.kernels.EmbeddingBackward(context.tape.TakeGrad(slot), ids, context.params.Grad(table));
  });
  return out;
}

Var NormLinear(Context& context, const Var& x, ParamId norm, const LinearParams& linear) {
  auto [normalized, rstd] =
      context.kernels.RmsNorm(x.value, context.params.Weight(norm), context.norm_eps);
  LinearUse use(context, linear);
  Var out = context.tape.Output(use.Forward(normalized));
  const bool needs_input = linear.NeedsInput();
  context.tape.Record([context, x, norm, needs_input, rstd, use = std::move(use),
                       slot = Var{{}, out.slot}]() mutable {
    const at::Tensor grad = context.tape.TakeGrad(slot), weight = context.params.Weight(norm);
    const GradView norm_grad = context.params.Grad(norm);
    if (x.slot < 0 && !norm_grad.view.defined()) {
      use.BackwardInput(grad, {});
      if (needs_input)
        use.BackwardWeights(grad, context.kernels.RmsNorm(x.value, weight, context.norm_eps).first);
      return;
    }
    const at::Tensor normalized_grad = at::empty_like(x.value);
    use.BackwardInput(grad, normalized_grad);
    const at::Tensor residual_grad = x.slot < 0 ? at::Tensor() : context.tape.TakeGrad(x);
    const NormBackward back = context.kernels.RmsNormBackward(
        normalized_grad, x.value, weight, rstd, residual_grad, norm_grad, needs_input);
    context.tape.PutGrad(x, back.input_grad);
    use.BackwardWeights(grad, back.normalized);
  });
  return out;
}

Var SelfAttention(Context& context, const Var& qkv, const at::Tensor& cos, const at::Tensor& sin,
                  const HeadShape& shape, const std::optional<HeadNorms>& norms) {
  std::vector<HeadNormUse> head_norms = UsesOf(norms, shape);
  for (HeadNormUse& use : head_norms) use.Forward(context, qkv.value);
  context.kernels.Rope(qkv.value, cos, sin, shape);
  auto [rows, saved] = Attention(qkv.value, shape, context.deterministic);
  Var out = context.tape.Output(rows);
  context.tape.Record([context, qkv, cos, sin, shape, saved = std::move(saved),
                       head_norms = std::move(head_norms), slot = Var{{}, out.slot}]() mutable {
    AttentionGrads grads = AttentionBackward(context.tape.TakeGrad(slot), qkv.value, saved, shape);
    const at::Tensor qkv_grad =
        context.kernels.RopeBackward(grads.q, grads.k, grads.v, cos, sin, shape);
    grads = {};
    for (const HeadNormUse& use : head_norms) use.Backward(context, qkv_grad);
    context.tape.PutGrad(qkv, qkv_grad);
  });
  return out;
}

Var LinearResidual(Context& context, const Var& x, const LinearParams& linear,
                   const Var& residual) {
  LinearUse use(context, linear);
  Var out = context.tape.Output(use.Forward(x.value, residual.value));
  const Var input{linear.NeedsInput() ? x.value : at::Tensor(), x.slot};
  context.tape.Record([context, input, columns = x.value.size(1), use = std::move(use),
                       residual = Var{{}, residual.slot}, slot = Var{{}, out.slot}]() mutable {
    const at::Tensor grad = context.tape.TakeGrad(slot);
    context.tape.PutGrad(residual, grad);
    const at::Tensor input_grad = at::empty({grad.size(0), columns}, grad.options());
    use.BackwardInput(grad, input_grad);
    context.tape.PutGrad(input, input_grad);
    use.BackwardWeights(grad, input.value);
  });
  return out;
}

Var SwiGluLinearResidual(Context& context, const Var& gate_up, const LinearParams& linear,
                         const Var& residual) {
  LinearUse use(context, linear);
  Var out = context.tape.Output({});
  if (!context.recomputes) {
    out.value = use.Forward(context.kernels.SwiGlu(gate_up.value), residual.value);
  } else if (!linear.adapters.empty()) {
    use.Keep(context.kernels.SwiGlu(gate_up.value));
  }
  const bool needs_input = linear.NeedsInput();
  context.tape.Record([context, gate_up, needs_input, use = std::move(use),
                       residual = Var{{}, residual.slot}, slot = Var{{}, out.slot}]() mutable {
    const at::Tensor grad = context.tape.TakeGrad(slot);
    context.tape.PutGrad(residual, grad);
    const at::Tensor product_grad =
        at::empty({grad.size(0), gate_up.value.size(1) / 2}, grad.options());
    use.BackwardInput(grad, product_grad);
    const auto [gate_up_grad, product] =
        context.kernels.SwiGluBackward(product_grad, gate_up.value, needs_input);
    context.tape.PutGrad(gate_up, gate_up_grad);
    use.BackwardWeights(grad, product);
  });
  return out;
}

}  // namespace trainctl::ops
