#include "worker/rank/ops/layers.h"

#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "common/base/check.h"

namespace trainctl::ops {
namespace {

// Rows of samples of one length.
struct SampleRows {
  int64_t samples, length, width;

  at::Tensor Of(const at::Tensor& rows) const { return rows.view({samples, length, width}); }
  at::Tensor First(const at::Tensor& rows, int64_t count) const {
    return Of(rows).narrow(1, 0, count);
  }
  at::Tensor Behind(const at::Tensor& rows, int64_t count) const {
    return Of(rows).narrow(1, count, length - count);
  }
};

// The norm of neighbouring heads of packed rows, forward and then backward.
class HeadNormUse {
 public:
  HeadNormUse(ParamId norm, int64_t first_head, int64_t heads, const HeadShape& shape)
      : norm_(norm), first_head_(first_head), heads_(heads), shape_(shape) {}

  void Forward(Context& context, const at::Tensor& qkv) {
    const at::Tensor heads = Heads(qkv);
    input_ = Copied(heads);
    auto [normalized, statistics] =
        context.kernels.Norm(input_, VectorsOf(context.params, norm_), context.norm_eps);
    heads.copy_(normalized.view(heads.sizes()));
    statistics_ = statistics;
  }

  // The heads' gradient in qkv_grad becomes that of what they were.
  void Backward(Context& context, const at::Tensor& qkv_grad) const {
    const at::Tensor heads = Heads(qkv_grad);
    const NormGrads back = context.kernels.NormBackward(
        Copied(heads), input_, VectorsOf(context.params, norm_), statistics_, {},
        GradsOf(context.params, norm_), /*normalized_wanted=*/false);
    heads.copy_(back.input.view(heads.sizes()));
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
  at::Tensor input_;
  NormStatistics statistics_;
};

std::vector<HeadNormUse> UsesOf(const std::optional<HeadNorms>& norms, const HeadShape& shape) {
  if (!norms) return {};
  return {{norms->q, 0, shape.heads, shape}, {norms->k, shape.heads, shape.kv_heads, shape}};
}

Var NormLinearThen(Context& context, const Var& x, const NormParams& norm,
                   const LinearParams& linear, bool has_relu) {
  auto [normalized, statistics] =
      context.kernels.Norm(x.value, VectorsOf(context.params, norm), context.norm_eps);
  LinearUse use(context, linear);
  Var out = context.tape.Output(has_relu ? use.ForwardRelu(normalized) : use.Forward(normalized));
  const bool needs_input = linear.NeedsInput();
  context.tape.Record([context, x, norm, needs_input, statistics = std::move(statistics),
                       use = std::move(use), slot = Var{{}, out.slot}]() mutable {
    const at::Tensor grad = context.tape.TakeGrad(slot);
    const NormVectors vectors = VectorsOf(context.params, norm);
    const NormGradViews norm_grads = GradsOf(context.params, norm);
    if (x.slot < 0 && !norm_grads.weight.view.defined()) {
      use.BackwardInput(grad, {});
      if (needs_input)
        use.BackwardWeights(grad, context.kernels.Norm(x.value, vectors, context.norm_eps).value);
      return;
    }
    const at::Tensor normalized_grad = at::empty_like(x.value);
    use.BackwardInput(grad, normalized_grad);
    const at::Tensor residual_grad = x.slot < 0 ? at::Tensor() : context.tape.TakeGrad(x);
    const NormGrads back = context.kernels.NormBackward(
        normalized_grad, x.value, vectors, statistics, residual_grad, norm_grads, needs_input);
    context.tape.PutGrad(x, back.input);
    use.BackwardWeights(grad, back.normalized);
  });
  return out;
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

Var PositionedEmbedding(Context& context, ParamId table, const at::Tensor& ids,
                        const LearnedPositions& positions, bool frozen, const Var& leading) {
  const at::Tensor rows = at::embedding(context.params.Weight(table), ids);
  const SampleRows shape{ids.size(0) / positions.rows.size(0), positions.rows.size(0),
                         rows.size(1)};
  const int64_t first = leading.value.defined() ? leading.value.size(0) / shape.samples : 0;
  if (first > 0) shape.First(rows, first).copy_(leading.value.view({-1, first, shape.width}));
  shape.Of(rows).add_(at::embedding(context.params.Weight(positions.table), positions.rows));
  if (frozen && leading.slot < 0) return {rows, -1};
  Var out = context.tape.Output(rows);
  context.tape.Record([context, table, ids, positions, shape, first, frozen,
                       leading = Var{{}, leading.slot}, slot = Var{{}, out.slot}]() mutable {
    const at::Tensor grad = context.tape.TakeGrad(slot);
    if (!frozen) {
      context.kernels.EmbeddingBackward(
          shape.Behind(grad, first).reshape({-1, shape.width}),
          ids.view({-1, shape.length}).narrow(1, first, shape.length - first).reshape({-1}),
          context.params.Grad(table));
      context.kernels.EmbeddingBackward(grad, positions.rows.repeat({shape.samples}),
                                        context.params.Grad(positions.table));
    }
    if (leading.slot >= 0)
      context.tape.PutGrad(leading, shape.First(grad, first).reshape({-1, shape.width}));
  });
  return out;
}

Var NormLinear(Context& context, const Var& x, const NormParams& norm, const LinearParams& linear) {
  return NormLinearThen(context, x, norm, linear, /*has_relu=*/false);
}

Var NormLinearRelu(Context& context, const Var& x, const NormParams& norm,
                   const LinearParams& linear) {
  return NormLinearThen(context, x, norm, linear, /*has_relu=*/true);
}

Var SelfAttention(Context& context, const Var& qkv, const at::Tensor& cos, const at::Tensor& sin,
                  const HeadShape& shape, const std::optional<HeadNorms>& norms,
                  const CachedLayer& cached) {
  std::vector<HeadNormUse> head_norms = UsesOf(norms, shape);
  for (HeadNormUse& use : head_norms) use.Forward(context, qkv.value);
  if (cos.defined()) context.kernels.Rope(qkv.value, cos, sin, shape);
  if (cached.cache != nullptr) {
    CHECK(!context.tape.recording()) << "layer " << cached.layer << " has no backward in a cache";
    return {cached.cache->Attend(cached.layer, qkv.value, shape, context.deterministic), -1};
  }
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

}  // namespace trainctl::ops
