// A kernel each way where there is one; else plain products and a softmax, whose rows are few.
#include <ATen/TensorOperators.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>

#include <cmath>
#include <utility>

#include "worker/rank/ops/picture_layers.h"

namespace trainctl::ops {
namespace {

// bf16 on a CPU: compute in fp32.
at::ScalarType ArithmeticType(const at::Tensor& tensor) {
  const bool widens = tensor.is_cpu() && tensor.scalar_type() == at::kBFloat16;
  return widens ? at::kFloat : tensor.scalar_type();
}

struct QueryKeyValue {
  at::Tensor q, k, v;  // [batch, heads, rows, D]
};

at::Tensor SplitHeads(const at::Tensor& rows, int64_t batch, const CrossShape& s) {
  return rows.view({batch, -1, s.heads, s.head_dim}).transpose(1, 2);
}

QueryKeyValue Split(const at::Tensor& q, const at::Tensor& key_value, const CrossShape& s) {
  const at::ScalarType type = ArithmeticType(q);
  const at::Tensor both =
      key_value.to(type).view({s.batch, s.keys, 2 * s.heads, s.head_dim}).transpose(1, 2);
  return {SplitHeads(q.to(type), s.batch, s), both.narrow(1, 0, s.heads),
          both.narrow(1, s.heads, s.heads)};
}

// Each sample's probabilities are rows of its own.
class ProbabilityDropout {
 public:
  ProbabilityDropout(const Context& context, const CrossShape& s, const OutputDropout& dropout)
      : context_(context),
        mask_{.rows = context.dropout,
              .first_row = 0,
              .module = dropout.module,
              .probability = dropout.probability} {
    mask_.rows.length = s.heads * s.queries;
  }

  const DropoutMask& mask() const { return mask_; }
  at::Tensor Apply(const at::Tensor& values) const {
    if (mask_.probability <= 0 || !mask_.rows.samples.defined()) return values;
    return context_.kernels.Dropout(values.reshape({-1, values.size(3)}), mask_)
        .view(values.sizes());
  }

 private:
  Context context_;
  DropoutMask mask_;
};

Var InKernels(Context& context, const Var& q, const Var& key_value, const CrossShape& s,
              const DropoutMask& mask) {
  CrossAttended attended = context.kernels.CrossAttention(q.value, key_value.value, s, mask);
  Var out = context.tape.Output(attended.rows);
  context.tape.Record(
      [context, q, key_value, s, mask, attended, slot = Var{{}, out.slot}]() mutable {
        const auto [q_grad, key_value_grad] = context.kernels.CrossAttentionBackward(
            context.tape.TakeGrad(slot).contiguous(), q.value, key_value.value, attended, s, mask,
            key_value.slot >= 0);
        context.tape.PutGrad(q, q_grad);
        if (key_value.slot >= 0) context.tape.PutGrad(key_value, key_value_grad);
      });
  return out;
}

}  // namespace

Var CrossAttention(Context& context, const Var& q, const Var& key_value, const CrossShape& s,
                   const OutputDropout& dropout) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(s.head_dim));
  const ProbabilityDropout dropped(context, s, dropout);
  if (context.kernels.HasCrossAttention(q.value, s))
    return InKernels(context, q, key_value, s, dropped.mask());
  const QueryKeyValue h = Split(q.value, key_value.value, s);
  const at::Tensor scores = at::matmul(h.q * scale, h.k.transpose(2, 3));
  const bool is_double = scores.scalar_type() == at::kDouble;
  const at::Tensor probabilities =
      at::softmax(scores, -1, is_double ? at::kDouble : at::kFloat).to(q.value.scalar_type());
  const at::Tensor attended = at::matmul(dropped.Apply(probabilities).to(h.v.scalar_type()), h.v);
  Var out = context.tape.Output(attended.transpose(1, 2)
                                    .reshape({s.batch * s.queries, s.heads * s.head_dim})
                                    .to(q.value.scalar_type()));
  context.tape.Record([context, q, key_value, s, scale, dropped, probabilities,
                       slot = Var{{}, out.slot}]() mutable {
    const QueryKeyValue now = Split(q.value, key_value.value, s);
    const at::ScalarType type = now.q.scalar_type();
    const at::Tensor grad = SplitHeads(context.tape.TakeGrad(slot).to(type), s.batch, s);
    const at::Tensor v_grad =
        at::matmul(dropped.Apply(probabilities).to(type).transpose(2, 3), grad);
    const at::Tensor dropped_grad =
        dropped.Apply(at::matmul(grad, now.v.transpose(2, 3)).to(q.value.scalar_type())).to(type);
    const at::Tensor score_grad =
        at::_softmax_backward_data(dropped_grad, probabilities.to(type), -1, type) * scale;
    const auto rows = [&](const at::Tensor& heads) {
      return heads.transpose(1, 2).reshape({-1, s.heads * s.head_dim});
    };
    if (q.slot >= 0)
      context.tape.PutGrad(q, rows(at::matmul(score_grad, now.k)).to(q.value.scalar_type()));
    if (key_value.slot < 0) return;
    const at::Tensor both = at::empty(key_value.value.sizes(), key_value.value.options());
    both.narrow(1, 0, s.heads * s.head_dim)
        .copy_(rows(at::matmul(score_grad.transpose(2, 3), now.q)));
    both.narrow(1, s.heads * s.head_dim, s.heads * s.head_dim).copy_(rows(v_grad));
    context.tape.PutGrad(key_value, both);
  });
  return out;
}

}  // namespace trainctl::ops
