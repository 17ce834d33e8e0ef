#include <ATen/ops/empty_like.h>

#include <algorithm>

#include "worker/rank/ops/layers.h"

namespace trainctl::ops {
namespace {

// Large enough for the tensor cores, small enough that logits are a small part of memory.
constexpr int64_t kChunkRows = 2048;

void BeginUnits(Context& context, const HeadLoss& loss, Pass pass) {
  for (const UnitId unit : loss.units) context.params.BeginUnit(unit, pass);
}

void EndUnits(Context& context, const HeadLoss& loss, Pass pass) {
  for (auto unit = loss.units.rbegin(); unit != loss.units.rend(); ++unit)
    context.params.EndUnit(*unit, pass);
}

// Calls body(first row, rows) for each chunk.
template <class Body>
void ForChunks(int64_t rows, const Body& body) {
  for (int64_t first = 0; first < rows; first += kChunkRows)
    body(first, std::min(kChunkRows, rows - first));
}

void AddLosses(const HeadLoss& loss, const at::Tensor& rows) {
  loss.loss_sum.add_(rows.sum(at::kDouble));
}

void Evaluate(Context& context, const Var& x, const HeadLoss& loss) {
  BeginUnits(context, loss, Pass::kForward);
  const at::Tensor normalized =
      context.kernels.Norm(x.value, VectorsOf(context.params, loss.norm), context.norm_eps).value;
  ForChunks(normalized.size(0), [&](int64_t first, int64_t rows) {
    const at::Tensor logits =
        LinearUse(context, loss.head, first).Forward(normalized.narrow(0, first, rows));
    AddLosses(loss, context.kernels.CrossEntropy(logits, loss.targets.narrow(0, first, rows),
                                                 std::nullopt));
  });
  EndUnits(context, loss, Pass::kForward);
}

void ForwardBackward(Context& context, const Var& x, const HeadLoss& loss) {
  BeginUnits(context, loss, Pass::kBackward);
  const NormVectors norm = VectorsOf(context.params, loss.norm);
  auto [normalized, statistics] = context.kernels.Norm(x.value, norm, context.norm_eps);
  const NormGradViews norm_grads = GradsOf(context.params, loss.norm);
  const bool goes_on = x.slot >= 0 || norm_grads.weight.view.defined();
  const at::Tensor normalized_grad = goes_on ? at::empty_like(normalized) : at::Tensor();
  ForChunks(normalized.size(0), [&, &normalized = normalized](int64_t first, int64_t rows) {
    const at::Tensor input = normalized.narrow(0, first, rows);
    LinearUse use(context, loss.head, first);
    const at::Tensor logits = use.Forward(input);
    AddLosses(loss, context.kernels.CrossEntropy(logits, loss.targets.narrow(0, first, rows),
                                                 loss.grad_scale));
    use.BackwardInput(logits, goes_on ? normalized_grad.narrow(0, first, rows) : at::Tensor());
    use.BackwardWeights(logits, input);
  });
  if (goes_on) {
    const at::Tensor residual_grad = x.slot < 0 ? at::Tensor() : context.tape.TakeGrad(x);
    const NormGrads back =
        context.kernels.NormBackward(normalized_grad, x.value, norm, statistics, residual_grad,
                                     norm_grads, /*normalized_wanted=*/false);
    context.tape.PutGrad(x, back.input);
  }
  EndUnits(context, loss, Pass::kBackward);
}

}  // namespace

at::Tensor NormHeadLogits(Context& context, const at::Tensor& x, const HeadLoss& head) {
  BeginUnits(context, head, Pass::kForward);
  const at::Tensor normalized =
      context.kernels.Norm(x, VectorsOf(context.params, head.norm), context.norm_eps).value;
  const at::Tensor logits = LinearUse(context, head.head).Forward(normalized);
  EndUnits(context, head, Pass::kForward);
  return logits;
}

void NormHeadLoss(Context& context, const Var& x, const HeadLoss& loss) {
  if (!context.tape.recording()) return Evaluate(context, x, loss);
  context.tape.Record([context, x, loss]() mutable { ForwardBackward(context, x, loss); });
}

}  // namespace trainctl::ops
