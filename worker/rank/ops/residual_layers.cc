// The layers that add to the residual.
#include <ATen/ops/empty.h>
#include <ATen/ops/threshold_backward.h>

#include <utility>

#include "worker/rank/ops/dropped_sum.h"
#include "worker/rank/ops/layers.h"

namespace trainctl::ops {

Var LinearResidual(Context& context, const Var& x, const LinearParams& linear, const Var& residual,
                   const OutputDropout& dropout) {
  LinearUse use(context, linear);
  const DroppedSum sum(context, dropout);
  Var out = context.tape.Output(sum.Forward(use, x.value, residual.value));
  const Var input{linear.NeedsInput() ? x.value : at::Tensor(), x.slot};
  context.tape.Record([context, input, sum, columns = x.value.size(1), use = std::move(use),
                       residual = Var{{}, residual.slot}, slot = Var{{}, out.slot}]() mutable {
    at::Tensor grad = context.tape.TakeGrad(slot);
    context.tape.PutGrad(residual, grad);
    grad = sum.OutputGrad(grad);
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

Var ReluLinearResidual(Context& context, const Var& x, const LinearParams& linear,
                       const Var& residual, const OutputDropout& dropout) {
  LinearUse use(context, linear);
  const DroppedSum sum(context, dropout);
  Var out = context.tape.Output({});
  if (!context.recomputes) {
    out.value = sum.Forward(use, x.value, residual.value);
  } else if (!linear.adapters.empty()) {
    use.Keep(x.value);
  }
  context.tape.Record([context, input = x, sum, use = std::move(use),
                       residual = Var{{}, residual.slot}, slot = Var{{}, out.slot}]() mutable {
    at::Tensor grad = context.tape.TakeGrad(slot);
    context.tape.PutGrad(residual, grad);
    grad = sum.OutputGrad(grad);
    at::Tensor input_grad = at::empty({grad.size(0), input.value.size(1)}, grad.options());
    use.BackwardInput(grad, input_grad);
    at::threshold_backward_out(input_grad, input_grad, input.value, 0);
    context.tape.PutGrad(input, input_grad);
    use.BackwardWeights(grad, input.value);
  });
  return out;
}

}  // namespace trainctl::ops
