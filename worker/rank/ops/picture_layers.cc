#include "worker/rank/ops/picture_layers.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/sum.h>

#include <utility>

#include "worker/rank/ops/dropped_sum.h"
#include "worker/rank/ops/matmul.h"

namespace trainctl::ops {
namespace {

// [batch, 3, height, width] → [batch · patches, 3 · side²] of the dtype.
at::Tensor PatchRows(const at::Tensor& images, int64_t side, at::ScalarType type) {
  const int64_t batch = images.size(0), colors = images.size(1);
  const int64_t down = images.size(2) / side, across = images.size(3) / side;
  return images.to(type)
      .view({batch, colors, down, side, across, side})
      .permute({0, 2, 4, 1, 3, 5})
      .reshape({batch * down * across, colors * side * side});
}

// The sum over samples, in fp32 or wider.
void AddSampleSum(const at::Tensor& rows, const GradView& target) {
  if (!target.view.defined()) return;
  const at::ScalarType type = rows.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  AccumulateInto(target, at::sum(rows, {0}, false, type).view(target.view.sizes()));
}

// A linear layer behind gelu, or behind nothing: forward, and back to x.
class Activated {
 public:
  Activated(const Kernels& kernels, bool has_gelu, const at::Tensor& x)
      : kernels_(kernels), has_gelu_(has_gelu), x_(x) {}

  at::Tensor Input() const { return has_gelu_ ? kernels_.Gelu(x_) : x_; }
  // {gradient of x, Input() again where it is wanted}, by the gradient of Input(). Both that and x
  // may be overwritten.
  std::pair<at::Tensor, at::Tensor> Back(const at::Tensor& input_grad, bool input_wanted) const {
    if (has_gelu_) return kernels_.GeluBackward(input_grad, x_, input_wanted);
    return {input_grad, input_wanted ? x_ : at::Tensor()};
  }

 private:
  const Kernels& kernels_;
  bool has_gelu_;
  at::Tensor x_;
};

// Back through a use: x's gradient, then those of the weights.
void GoBack(Context& context, LinearUse& use, bool needs_input, const Activated& activated,
            const Var& x, const at::Tensor& grad) {
  if (x.slot < 0) {
    use.BackwardInput(grad, {});
    use.BackwardWeights(grad, needs_input ? activated.Input() : at::Tensor());
    return;
  }
  const at::Tensor input_grad = at::empty({grad.size(0), x.value.size(1)}, grad.options());
  use.BackwardInput(grad, input_grad);
  const auto [x_grad, input] = activated.Back(input_grad, needs_input);
  context.tape.PutGrad(x, x_grad);
  use.BackwardWeights(grad, input);
}

struct SumNorm {
  NormParams norm;
  OutputDropout dropout;
};

Var ResidualNorm(Context& context, const Var& x, bool has_gelu, const LinearParams& linear,
                 const Var& residual, const SumNorm& behind) {
  LinearUse use(context, linear);
  const Activated activated(context.kernels, has_gelu, x.value);
  const DroppedSum dropped(context, behind.dropout);
  const at::Tensor sum = dropped.Forward(use, activated.Input(), residual.value);
  auto [value, statistics] =
      context.kernels.Norm(sum, VectorsOf(context.params, behind.norm), context.norm_eps);
  Var out = context.tape.Output(value);
  context.tape.Record([context, x, activated, dropped, sum, norm = behind.norm,
                       needs_input = linear.NeedsInput(), statistics = std::move(statistics),
                       use = std::move(use), residual = Var{{}, residual.slot},
                       slot = Var{{}, out.slot}]() mutable {
    const NormGrads back = context.kernels.NormBackward(
        context.tape.TakeGrad(slot), sum, VectorsOf(context.params, norm), statistics, {},
        GradsOf(context.params, norm), /*normalized_wanted=*/false);
    context.tape.PutGrad(residual, back.input);
    GoBack(context, use, needs_input, activated, x, dropped.OutputGrad(back.input));
  });
  return out;
}

}  // namespace

Var EmbedPatches(Context& context, const PatchEmbedding& embedding, const at::Tensor& images) {
  const at::Tensor class_row = context.params.Weight(embedding.class_row);
  const int64_t batch = images.size(0), width = class_row.size(1);
  LinearUse use(context, embedding.patches);
  const at::Tensor patches =
      use.Forward(PatchRows(images, embedding.side, class_row.scalar_type()));
  const int64_t count = patches.size(0) / batch;
  const at::Tensor rows = at::empty({batch, count + 1, width}, patches.options());
  rows.narrow(1, 0, 1).copy_(class_row);
  rows.narrow(1, 1, count).copy_(patches.view({batch, count, width}));
  rows.add_(context.params.Weight(embedding.positions));
  Var out = context.tape.Output(rows.view({-1, width}));
  context.tape.Record([context, embedding, images, batch, count, width, use = std::move(use),
                       slot = Var{{}, out.slot}]() mutable {
    const at::Tensor grad = context.tape.TakeGrad(slot).view({batch, count + 1, width});
    AddSampleSum(grad.narrow(1, 0, 1), context.params.Grad(embedding.class_row));
    AddSampleSum(grad, context.params.Grad(embedding.positions));
    const at::Tensor patch_grad = grad.narrow(1, 1, count).reshape({-1, width});
    use.BackwardInput(patch_grad, {});
    use.BackwardWeights(patch_grad, PatchRows(images, embedding.side, patch_grad.scalar_type()));
  });
  return out;
}

Var EmbedQueries(Context& context, ParamId rows, const NormParams& norm, int64_t batch,
                 const OutputDropout& dropout) {
  const at::Tensor learned = context.params.Weight(rows);
  auto [value, statistics] =
      context.kernels.Norm(learned, VectorsOf(context.params, norm), context.norm_eps);
  const DroppedSum dropped(context, dropout);
  Var out = context.tape.Output(dropped.OutputGrad(value.repeat({batch, 1})));
  context.tape.Record([context, rows, norm, batch, dropped, statistics = std::move(statistics),
                       slot = Var{{}, out.slot}]() mutable {
    const at::Tensor weights = context.params.Weight(rows);
    const at::Tensor grad = dropped.OutputGrad(context.tape.TakeGrad(slot));
    const at::ScalarType type = grad.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const at::Tensor sum =
        at::sum(grad.view({batch, weights.size(0), weights.size(1)}), {0}, false, type)
            .to(grad.scalar_type());
    const NormGrads back =
        context.kernels.NormBackward(sum, weights, VectorsOf(context.params, norm), statistics, {},
                                     GradsOf(context.params, norm), /*normalized_wanted=*/false);
    const GradView target = context.params.Grad(rows);
    if (target.view.defined()) AccumulateInto(target, back.input);
  });
  return out;
}

Var Norm(Context& context, const Var& x, const NormParams& norm) {
  auto [value, statistics] =
      context.kernels.Norm(x.value, VectorsOf(context.params, norm), context.norm_eps);
  Var out = context.tape.Output(value);
  context.tape.Record(
      [context, x, norm, statistics = std::move(statistics), slot = Var{{}, out.slot}]() mutable {
        const at::Tensor grad = context.tape.TakeGrad(slot);
        const at::Tensor residual_grad = x.slot < 0 ? at::Tensor() : context.tape.TakeGrad(x);
        const NormGrads back = context.kernels.NormBackward(
            grad, x.value, VectorsOf(context.params, norm), statistics, residual_grad,
            GradsOf(context.params, norm), /*normalized_wanted=*/false);
        context.tape.PutGrad(x, back.input);
      });
  return out;
}

Var Linear(Context& context, const Var& x, const LinearParams& linear) {
  LinearUse use(context, linear);
  Var out = context.tape.Output(use.Forward(x.value));
  context.tape.Record([context, x, needs_input = linear.NeedsInput(), use = std::move(use),
                       slot = Var{{}, out.slot}]() mutable {
    GoBack(context, use, needs_input, Activated(context.kernels, false, x.value), x,
           context.tape.TakeGrad(slot));
  });
  return out;
}

Var GeluLinearResidual(Context& context, const Var& x, const LinearParams& linear,
                       const Var& residual) {
  LinearUse use(context, linear);
  const Activated activated(context.kernels, true, x.value);
  Var out = context.tape.Output({});
  if (!context.recomputes) {
    out.value = use.Forward(activated.Input(), residual.value);
  } else if (!linear.adapters.empty()) {
    use.Keep(activated.Input());
  }
  context.tape.Record([context, x, activated, needs_input = linear.NeedsInput(),
                       use = std::move(use), residual = Var{{}, residual.slot},
                       slot = Var{{}, out.slot}]() mutable {
    const at::Tensor grad = context.tape.TakeGrad(slot);
    context.tape.PutGrad(residual, grad);
    GoBack(context, use, needs_input, activated, x, grad);
  });
  return out;
}

Var LinearResidualNorm(Context& context, const Var& x, const LinearParams& linear,
                       const Var& residual, const NormParams& norm, const OutputDropout& dropout) {
  return ResidualNorm(context, x, /*has_gelu=*/false, linear, residual, {norm, dropout});
}

Var GeluLinearResidualNorm(Context& context, const Var& x, const LinearParams& linear,
                           const Var& residual, const NormParams& norm,
                           const OutputDropout& dropout) {
  return ResidualNorm(context, x, /*has_gelu=*/true, linear, residual, {norm, dropout});
}

}  // namespace trainctl::ops
