#include "worker/rank/ops/fused_kernels.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

#include <cmath>
#include <iterator>

#include "common/base/check.h"
#include "worker/rank/ops/cuda_element.h"
#include "worker/rank/ops/fused.h"

namespace trainctl::ops {
namespace {

cudaStream_t Stream() { return c10::cuda::getCurrentCUDAStream(); }

fused::PackedHeads Packed(at::ScalarType type, const at::Tensor& cos, const at::Tensor& sin,
                          const HeadShape& shape) {
  return {.element = ElementType(type),
          .batch = shape.batch,
          .length = shape.length,
          .heads = shape.heads,
          .kv_heads = shape.kv_heads,
          .head_dim = shape.head_dim,
          .cos = cos.defined() ? cos.const_data_ptr<float>() : nullptr,
          .sin = sin.defined() ? sin.const_data_ptr<float>() : nullptr};
}

fused::StridedHeads Strided(const at::Tensor& heads) {
  return {.data = heads.const_data_ptr(),
          .batch_stride = heads.stride(0),
          .head_stride = heads.stride(1),
          .position_stride = heads.stride(2),
          .element_stride = heads.stride(3)};
}

const void* DataOrNull(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr() : nullptr;
}

fused::Dropout Described(const at::Tensor& x, const DropoutMask& mask) {
  return {.element = ElementType(x.scalar_type()),
          .rows = x.size(0),
          .columns = x.size(1),
          .x = x.const_data_ptr(),
          .samples = mask.rows.samples.const_data_ptr<int64_t>(),
          .length = mask.rows.length,
          .first_row = mask.first_row,
          .seed = static_cast<uint64_t>(mask.rows.seed),
          .module = mask.module,
          .threshold = mask.threshold(),
          .scale = static_cast<float>(mask.scale())};
}

fused::CrossAttention Described(const CrossShape& shape, const DropoutMask& mask) {
  const bool drops = mask.probability > 0 && mask.rows.samples.defined();
  return {.batch = shape.batch,
          .heads = shape.heads,
          .queries = shape.queries,
          .keys = shape.keys,
          .softmax_scale = 1 / std::sqrt(static_cast<float>(shape.head_dim)),
          .samples = drops ? mask.rows.samples.const_data_ptr<int64_t>() : nullptr,
          .seed = static_cast<uint64_t>(mask.rows.seed),
          .module = mask.module,
          .threshold = mask.threshold(),
          .scale = static_cast<float>(mask.scale())};
}

class Fused : public Kernels {
 public:
  NormOutput Norm(const at::Tensor& x, const NormVectors& norm, double eps) const override {
    const at::Tensor out = at::empty_like(x);
    const auto statistic = [&] { return at::empty({x.size(0)}, x.options().dtype(at::kFloat)); };
    const NormStatistics statistics{statistic(), norm.centers() ? statistic() : at::Tensor()};
    C10_CUDA_CHECK(
        fused::NormForward({.element = ElementType(x.scalar_type()),
                            .rows = x.size(0),
                            .hidden = x.size(1),
                            .x = x.const_data_ptr(),
                            .weight = norm.weight.const_data_ptr(),
                            .bias = DataOrNull(norm.bias),
                            .out = out.data_ptr(),
                            .rstd = statistics.rstd.data_ptr<float>(),
                            .mean = norm.centers() ? statistics.mean.data_ptr<float>() : nullptr,
                            .eps = static_cast<float>(eps)},
                           Stream()));
    return {out, statistics};
  }

  NormGrads NormBackward(const at::Tensor& grad, const at::Tensor& x, const NormVectors& norm,
                         const NormStatistics& statistics, const at::Tensor& residual_grad,
                         const NormGradViews& views, bool normalized_wanted) const override {
    const int64_t rows = x.size(0), hidden = x.size(1);
    const at::Tensor input_grad = at::empty_like(x);
    const at::Tensor& target = views.weight.view;
    C10_CUDA_CHECK(fused::NormBackward(
        {.element = ElementType(x.scalar_type()),
         .rows = rows,
         .hidden = hidden,
         .grad = grad.const_data_ptr(),
         .x = x.const_data_ptr(),
         .weight = norm.weight.const_data_ptr(),
         .bias = DataOrNull(norm.bias),
         .rstd = statistics.rstd.const_data_ptr<float>(),
         .mean = norm.centers() ? statistics.mean.const_data_ptr<float>() : nullptr,
         .residual_grad = DataOrNull(residual_grad),
         .input_grad = input_grad.data_ptr(),
         .normalized = normalized_wanted ? grad.data_ptr() : nullptr,
         .weight_grad = target.defined() ? target.data_ptr() : nullptr,
         .bias_grad = views.bias.view.defined() ? views.bias.view.data_ptr() : nullptr,
         .grad_type = ElementType(target.defined() ? target.scalar_type() : x.scalar_type()),
         .weight_grad_beta = static_cast<float>(views.weight.beta),
         .bias_grad_beta = static_cast<float>(views.bias.beta)},
        Stream()));
    return {input_grad, normalized_wanted ? grad : at::Tensor()};
  }

  void Rope(const at::Tensor& qkv, const at::Tensor& cos, const at::Tensor& sin,
            const HeadShape& shape) const override {
    C10_CUDA_CHECK(
        fused::RopeForward(Packed(qkv.scalar_type(), cos, sin, shape), qkv.data_ptr(), Stream()));
  }

  at::Tensor RopeBackward(const at::Tensor& q_grad, const at::Tensor& k_grad,
                          const at::Tensor& v_grad, const at::Tensor& cos, const at::Tensor& sin,
                          const HeadShape& shape) const override {
    const at::Tensor packed =
        at::empty({shape.batch * shape.length, shape.packed()}, q_grad.options());
    C10_CUDA_CHECK(fused::RopeBackward(Packed(q_grad.scalar_type(), cos, sin, shape),
                                       Strided(q_grad), Strided(k_grad), Strided(v_grad),
                                       packed.data_ptr(), Stream()));
    return packed;
  }

  void AddColumnSums(const at::Tensor& rows, const std::vector<GradView>& targets) const override {
    fused::ColumnSum sum{.element = ElementType(rows.scalar_type()),
                         .rows = rows.size(0),
                         .row_stride = rows.stride(0),
                         .x = rows.const_data_ptr(),
                         .grad_type = ElementType(targets.front().view.scalar_type())};
    CHECK(targets.size() <= std::size(sum.grads)) << targets.size();
    for (size_t i = 0; i < targets.size(); ++i) {
      sum.grads[i] = {.grad = targets[i].view.data_ptr(),
                      .columns = targets[i].view.size(0),
                      .beta = static_cast<float>(targets[i].beta)};
    }
    C10_CUDA_CHECK(fused::AddColumnSums(sum, Stream()));
  }

  at::Tensor AddRow(const at::Tensor& x, const at::Tensor& row) const override {
    const at::Tensor out = at::empty_like(x);
    C10_CUDA_CHECK(fused::AddRow({.element = ElementType(x.scalar_type()),
                                  .rows = x.size(0),
                                  .columns = x.size(1),
                                  .x = x.const_data_ptr(),
                                  .row = row.const_data_ptr()},
                                 out.data_ptr(), Stream()));
    return out;
  }

  at::Tensor Gelu(const at::Tensor& x) const override {
    const at::Tensor out = at::empty_like(x);
    C10_CUDA_CHECK(fused::GeluForward(ElementType(x.scalar_type()), x.numel(), x.const_data_ptr(),
                                      out.data_ptr(), Stream()));
    return out;
  }

  std::pair<at::Tensor, at::Tensor> GeluBackward(const at::Tensor& grad, const at::Tensor& x,
                                                 bool output_wanted) const override {
    C10_CUDA_CHECK(fused::GeluBackward(ElementType(x.scalar_type()), x.numel(), grad.data_ptr(),
                                       x.data_ptr(), output_wanted, Stream()));
    return {x, output_wanted ? grad : at::Tensor()};
  }

  at::Tensor SwiGlu(const at::Tensor& gate_up) const override {
    const int64_t rows = gate_up.size(0), ffn = gate_up.size(1) / 2;
    const at::Tensor out = at::empty({rows, ffn}, gate_up.options());
    C10_CUDA_CHECK(fused::SwiGluForward(ElementType(gate_up.scalar_type()), rows, ffn,
                                        gate_up.const_data_ptr(), out.data_ptr(), Stream()));
    return out;
  }

  std::pair<at::Tensor, at::Tensor> SwiGluBackward(const at::Tensor& grad,
                                                   const at::Tensor& gate_up,
                                                   bool output_wanted) const override {
    C10_CUDA_CHECK(fused::SwiGluBackward(ElementType(gate_up.scalar_type()), gate_up.size(0),
                                         gate_up.size(1) / 2, grad.data_ptr(), gate_up.data_ptr(),
                                         output_wanted, Stream()));
    return {gate_up, output_wanted ? grad : at::Tensor()};
  }

  at::Tensor Dropout(const at::Tensor& x, const DropoutMask& mask) const override {
    const at::Tensor out = at::empty_like(x);
    C10_CUDA_CHECK(fused::DropoutForward(Described(x, mask), out.data_ptr(), Stream()));
    return out;
  }

  at::Tensor DropoutPlus(const at::Tensor& x, const DropoutMask& mask,
                         const at::Tensor& sum) const override {
    C10_CUDA_CHECK(
        fused::DropoutAdd(Described(x, mask), sum.const_data_ptr(), x.data_ptr(), Stream()));
    return x;
  }

  void AddDropout(const at::Tensor& sum, const at::Tensor& grad,
                  const DropoutMask& mask) const override {
    C10_CUDA_CHECK(
        fused::DropoutAdd(Described(grad, mask), sum.const_data_ptr(), sum.data_ptr(), Stream()));
  }

  bool HasCrossAttention(const at::Tensor& q, const CrossShape& shape) const override {
    return q.scalar_type() == at::kBFloat16 &&
           fused::HasCrossAttention(fused::Type::kBf16, shape.queries, shape.keys, shape.head_dim);
  }

  CrossAttended CrossAttention(const at::Tensor& q, const at::Tensor& key_value,
                               const CrossShape& shape, const DropoutMask& mask) const override {
    const CrossAttended attended{
        at::empty_like(q),
        at::empty({shape.batch, shape.heads, shape.queries, shape.keys}, q.options())};
    C10_CUDA_CHECK(fused::CrossAttentionForward(
        Described(shape, mask), q.const_data_ptr(), key_value.const_data_ptr(),
        attended.rows.data_ptr(), attended.probabilities.data_ptr(), Stream()));
    return attended;
  }

  std::pair<at::Tensor, at::Tensor> CrossAttentionBackward(
      const at::Tensor& grad, const at::Tensor& q, const at::Tensor& key_value,
      const CrossAttended& attended, const CrossShape& shape, const DropoutMask& mask,
      bool key_value_wanted) const override {
    const at::Tensor q_grad = at::empty_like(q),
                     key_value_grad = key_value_wanted ? at::empty_like(key_value) : at::Tensor();
    C10_CUDA_CHECK(fused::CrossAttentionBackward(
        Described(shape, mask),
        {.q = q.const_data_ptr(),
         .key_value = key_value.const_data_ptr(),
         .out = attended.rows.const_data_ptr(),
         .probabilities = attended.probabilities.const_data_ptr(),
         .grad = grad.const_data_ptr(),
         .q_grad = q_grad.data_ptr(),
         .key_value_grad = key_value_wanted ? key_value_grad.data_ptr() : nullptr},
        Stream()));
    return {q_grad, key_value_grad};
  }

  at::Tensor CrossEntropy(const at::Tensor& logits, const at::Tensor& targets,
                          std::optional<double> grad_scale) const override {
    const at::Tensor losses = at::empty({logits.size(0)}, logits.options().dtype(at::kFloat));
    const fused::CrossEntropy loss{.element = ElementType(logits.scalar_type()),
                                   .rows = logits.size(0),
                                   .vocab = logits.size(1),
                                   .logits = logits.data_ptr(),
                                   .targets = targets.const_data_ptr<int64_t>(),
                                   .losses = losses.data_ptr<float>()};
    C10_CUDA_CHECK(grad_scale ? fused::CrossEntropyForwardBackward(
                                    loss, static_cast<float>(*grad_scale), nullptr, Stream())
                              : fused::CrossEntropyForward(loss, Stream()));
    return losses;
  }

  void EmbeddingBackward(const at::Tensor& grad, const at::Tensor& ids,
                         const GradView& target) const override {
    const int64_t rows = grad.size(0), vocab = target.view.size(0);
    const at::Tensor workspace =
        at::empty({static_cast<int64_t>(fused::EmbeddingWorkspaceBytes(rows))},
                  grad.options().dtype(at::kByte));
    C10_CUDA_CHECK(
        fused::EmbeddingBackward({.element = ElementType(grad.scalar_type()),
                                  .rows = rows,
                                  .hidden = grad.size(1),
                                  .vocab = vocab,
                                  .grad = grad.const_data_ptr(),
                                  .ids = ids.const_data_ptr<int64_t>(),
                                  .weight_grad = target.view.data_ptr(),
                                  .weight_grad_type = ElementType(target.view.scalar_type()),
                                  .beta = static_cast<float>(target.beta),
                                  .workspace = workspace.data_ptr()},
                                 Stream()));
  }
};

}  // namespace

const Kernels& FusedKernels() {
  static const Fused kernels;
  return kernels;
}

}  // namespace trainctl::ops
