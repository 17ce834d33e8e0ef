#include <ATen/TensorOperators.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/embedding_dense_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

#include "common/base/check.h"
#include "worker/rank/ops/fused_kernels.h"
#include "worker/rank/ops/kernels.h"
#include "worker/rank/ops/matmul.h"

namespace trainctl::ops {
namespace {

// fp32 for statistics; float64 inputs (the tests' oracle) stay float64.
at::Tensor Wide(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kDouble ? tensor : tensor.to(at::kFloat);
}

// The two halves of each head of [..., heads, D], as [..., heads, D / 2].
std::pair<at::Tensor, at::Tensor> Halves(const at::Tensor& heads) {
  const int64_t half = heads.size(-1) / 2;
  return {heads.narrow(-1, 0, half), heads.narrow(-1, half, half)};
}

// from, to: [batch, length, heads, D]; cos, sin: [length, 1, D / 2]. sign −1 rotates back.
void Rotate(const at::Tensor& from, const at::Tensor& to, const at::Tensor& cos,
            const at::Tensor& sin, double sign) {
  const auto [a, b] = Halves(Wide(from));
  const at::Tensor s = sin * sign;
  const at::Tensor first = a * cos - b * s;
  const at::Tensor second = b * cos + a * s;
  const auto [first_out, second_out] = Halves(to);
  first_out.copy_(first);
  second_out.copy_(second);
}

// x, less its mean where the norm has one.
at::Tensor Centered(const at::Tensor& x, const NormStatistics& statistics) {
  const at::Tensor wide = Wide(x);
  return statistics.mean.defined() ? wide - statistics.mean.unsqueeze(-1) : wide;
}

// What a norm gives for rows that are centered and scaled.
at::Tensor Weighted(const at::Tensor& unit, const NormVectors& norm, at::ScalarType type) {
  if (!norm.centers()) return (unit * Wide(norm.weight)).to(type);
  return (unit * Wide(norm.weight)).add_(Wide(norm.bias)).to(type);
}

// What the mask keeps of x. On a GPU the fused kernel draws the same bits.
at::Tensor Keep(const DropoutMask& mask, const at::Tensor& x) {
  if (x.is_cpu()) return KeepMask(mask, x.size(0), x.size(1));
  return FusedKernels().Dropout(at::ones(x.sizes(), x.options().dtype(at::kFloat)), mask) != 0;
}

class Aten : public Kernels {
 public:
  NormOutput Norm(const at::Tensor& x, const NormVectors& norm, double eps) const override {
    NormStatistics statistics;
    if (norm.centers()) statistics.mean = Wide(x).mean(-1);
    const at::Tensor centered = Centered(x, statistics);
    statistics.rstd = at::rsqrt((centered * centered).mean(-1) + eps);
    return {Weighted(centered * statistics.rstd.unsqueeze(-1), norm, x.scalar_type()), statistics};
  }

  NormGrads NormBackward(const at::Tensor& grad, const at::Tensor& x, const NormVectors& norm,
                         const NormStatistics& statistics, const at::Tensor& residual_grad,
                         const NormGradViews& views, bool normalized_wanted) const override {
    const at::Tensor scale = statistics.rstd.unsqueeze(-1);
    const at::Tensor wide_grad = Wide(grad);
    const at::Tensor unit = Centered(x, statistics) * scale;
    if (views.weight.view.defined()) AccumulateInto(views.weight, (wide_grad * unit).sum(0));
    if (views.bias.view.defined()) AccumulateInto(views.bias, wide_grad.sum(0));
    const at::Tensor weighted = wide_grad * Wide(norm.weight);
    at::Tensor dx = (weighted - unit * (weighted * unit).mean(-1, true)) * scale;
    if (norm.centers()) dx.sub_(weighted.mean(-1, true) * scale);
    if (residual_grad.defined()) dx = dx + residual_grad;
    return {dx.to(x.scalar_type()),
            normalized_wanted ? Weighted(unit, norm, x.scalar_type()) : at::Tensor()};
  }

  void Rope(const at::Tensor& qkv, const at::Tensor& cos, const at::Tensor& sin,
            const HeadShape& s) const override {
    const at::Tensor heads = qkv.view({s.batch, s.length, s.heads + 2 * s.kv_heads, s.head_dim})
                                 .narrow(2, 0, s.heads + s.kv_heads);
    Rotate(heads, heads, cos.unsqueeze(1), sin.unsqueeze(1), 1);
  }

  at::Tensor RopeBackward(const at::Tensor& q_grad, const at::Tensor& k_grad,
                          const at::Tensor& v_grad, const at::Tensor& cos, const at::Tensor& sin,
                          const HeadShape& s) const override {
    const at::Tensor packed = at::empty({s.batch * s.length, s.packed()}, q_grad.options());
    const at::Tensor heads = packed.view({s.batch, s.length, s.heads + 2 * s.kv_heads, s.head_dim});
    const at::Tensor q = heads.narrow(2, 0, s.heads), k = heads.narrow(2, s.heads, s.kv_heads);
    if (cos.defined()) {
      Rotate(q_grad.transpose(1, 2), q, cos.unsqueeze(1), sin.unsqueeze(1), -1);
      Rotate(k_grad.transpose(1, 2), k, cos.unsqueeze(1), sin.unsqueeze(1), -1);
    } else {
      q.copy_(q_grad.transpose(1, 2));
      k.copy_(k_grad.transpose(1, 2));
    }
    heads.narrow(2, s.heads + s.kv_heads, s.kv_heads).copy_(v_grad.transpose(1, 2));
    return packed;
  }

  void AddColumnSums(const at::Tensor& rows, const std::vector<GradView>& targets) const override {
    const at::ScalarType type = rows.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    int64_t column = 0;
    for (const GradView& target : targets) {
      const int64_t width = target.view.size(0);
      AccumulateInto(target, at::sum(rows.narrow(1, column, width), {0}, false, type));
      column += width;
    }
  }

  at::Tensor AddRow(const at::Tensor& x, const at::Tensor& row) const override { return x + row; }

  at::Tensor Gelu(const at::Tensor& x) const override { return at::gelu(x); }

  std::pair<at::Tensor, at::Tensor> GeluBackward(const at::Tensor& grad, const at::Tensor& x,
                                                 bool output_wanted) const override {
    return {at::gelu_backward(grad, x), output_wanted ? at::gelu(x) : at::Tensor()};
  }

  at::Tensor SwiGlu(const at::Tensor& gate_up) const override {
    const auto [gate, up] = Halves(gate_up);
    return (at::silu(Wide(gate)) * Wide(up)).to(gate_up.scalar_type());
  }

  std::pair<at::Tensor, at::Tensor> SwiGluBackward(const at::Tensor& grad,
                                                   const at::Tensor& gate_up,
                                                   bool output_wanted) const override {
    const auto [gate_half, up_half] = Halves(gate_up);
    const at::Tensor gate = Wide(gate_half), up = Wide(up_half), out_grad = Wide(grad);
    const at::Tensor sigmoid = at::sigmoid(gate);
    const at::Tensor silu = gate * sigmoid;
    const at::Tensor input_grad = at::empty_like(gate_up);
    const auto [gate_grad, up_grad] = Halves(input_grad);
    gate_grad.copy_(out_grad * up * sigmoid * (1 + gate * (1 - sigmoid)));
    up_grad.copy_(out_grad * silu);
    return {input_grad, output_wanted ? (silu * up).to(gate_up.scalar_type()) : at::Tensor()};
  }

  at::Tensor Dropout(const at::Tensor& x, const DropoutMask& mask) const override {
    return (Wide(x) * Keep(mask, x)).mul_(mask.scale()).to(x.scalar_type());
  }

  at::Tensor DropoutPlus(const at::Tensor& x, const DropoutMask& mask,
                         const at::Tensor& sum) const override {
    return (Wide(x) * Keep(mask, x)).mul_(mask.scale()).add_(Wide(sum)).to(x.scalar_type());
  }

  void AddDropout(const at::Tensor& sum, const at::Tensor& grad,
                  const DropoutMask& mask) const override {
    sum.copy_((Wide(grad) * Keep(mask, grad)).mul_(mask.scale()).add_(Wide(sum)));
  }

  bool HasCrossAttention(const at::Tensor&, const CrossShape&) const override { return false; }
  CrossAttended CrossAttention(const at::Tensor&, const at::Tensor&, const CrossShape&,
                               const DropoutMask&) const override {
    CHECK(false) << "no such kernel";
  }
  std::pair<at::Tensor, at::Tensor> CrossAttentionBackward(const at::Tensor&, const at::Tensor&,
                                                           const at::Tensor&, const CrossAttended&,
                                                           const CrossShape&, const DropoutMask&,
                                                           bool) const override {
    CHECK(false) << "no such kernel";
  }

  at::Tensor CrossEntropy(const at::Tensor& logits, const at::Tensor& targets,
                          std::optional<double> grad_scale) const override {
    const at::Tensor wide = Wide(logits);
    const at::Tensor ignored = targets < 0;
    const at::Tensor index = at::clamp_min(targets, 0).unsqueeze(1);
    const at::Tensor normalizer = at::logsumexp(wide, 1, true);
    const at::Tensor loss = (normalizer - wide.gather(1, index)).squeeze(1).masked_fill(ignored, 0);
    if (grad_scale) {
      at::Tensor gradient = (wide - normalizer).exp();
      gradient.scatter_add_(1, index, at::zeros(index.sizes(), gradient.options()).sub_(1));
      gradient.masked_fill_(ignored.unsqueeze(1), 0);
      logits.copy_(gradient.mul_(*grad_scale));
    }
    return loss;
  }

  void EmbeddingBackward(const at::Tensor& grad, const at::Tensor& ids,
                         const GradView& target) const override {
    AccumulateInto(target, at::embedding_dense_backward(grad.to(target.view.scalar_type()), ids,
                                                        target.view.size(0), -1, false));
  }
};

}  // namespace

const Kernels& AtenKernels() {
  static const Aten kernels;
  return kernels;
}

}  // namespace trainctl::ops
