#include <ATen/TensorOperators.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>

#include <cmath>
#include <utility>

#include "tests/gpu/kernel_checks.h"
#include "tests/gpu/kernel_device.h"
#include "worker/rank/ops/dropout.h"

namespace trainctl::gpu {
namespace {

namespace fused = ops::fused;

// Probabilities are rounded to bf16 before their products, as every 16-bit attention does: so much
// of the largest element.
constexpr double kOfLargest = 1.5e-2;
// The q and k gradients of a single key are zero, and what is computed is the rounding of `out`:
// 2^-9 of each of the head's 64 products.
constexpr double kRoundingOfOne = 4e-2;

// rows [batch · length, heads · D] as [batch, heads, length, D] in fp64.
at::Tensor HeadsOf(const at::Tensor& rows, int64_t batch, int64_t heads) {
  return rows.to(at::kDouble).view({batch, rows.size(0) / batch, heads, -1}).transpose(1, 2);
}

at::Tensor RowsOf(const at::Tensor& heads) {
  return heads.transpose(1, 2).reshape({heads.size(0) * heads.size(2), -1});
}

at::Tensor NotANumber(at::IntArrayRef shape, at::ScalarType type) {
  return at::full(shape, std::nan(""), On(type));
}

struct AttentionOracle {
  at::Tensor probabilities, out, q_grad, k_grad, v_grad;
};

// factors: of the probabilities; undefined: all are kept.
AttentionOracle Attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                       const at::Tensor& grad, const at::Tensor& factors) {
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
  const at::Tensor probabilities = at::softmax(at::matmul(q, k.transpose(2, 3)) * scale, -1);
  const at::Tensor kept = factors.defined() ? probabilities * factors : probabilities;
  at::Tensor kept_grad = at::matmul(grad, v.transpose(2, 3));
  if (factors.defined()) {
    kept_grad = kept_grad * factors;
  }
  const at::Tensor score_grad =
      at::_softmax_backward_data(kept_grad, probabilities, -1, at::kDouble) * scale;
  return {probabilities, at::matmul(kept, v), at::matmul(score_grad, k),
          at::matmul(score_grad.transpose(2, 3), q), at::matmul(kept.transpose(2, 3), grad)};
}

void CheckCrossAttention(Checks& checks, int64_t batch, int64_t heads, int64_t queries,
                         int64_t keys, double probability) {
  constexpr int64_t kDim = 64;
  const std::string name =
      "CrossAttention" + Text({batch, heads, queries, keys}) + (probability > 0 ? " dropped" : "");
  const at::Tensor q = Random({batch * queries, heads * kDim}, at::kBFloat16),
                   key_value = Random({batch * keys, 2 * heads * kDim}, at::kBFloat16),
                   grad = Random({batch * queries, heads * kDim}, at::kBFloat16);
  ops::DropoutMask mask{.rows = {.seed = 11,
                                 .samples = at::arange(70, 70 + batch, at::kLong),
                                 .length = heads * queries},
                        .first_row = 0,
                        .module = 17,
                        .probability = probability};
  const at::Tensor keep = ops::KeepMask(mask, batch * heads * queries, keys).to(at::kCUDA);
  const at::Tensor samples = mask.rows.samples.to(at::kCUDA);
  const at::Tensor factors =
      keep.view({batch, heads, queries, keys}).to(at::kDouble) * mask.scale();
  const fused::CrossAttention attention{
      .batch = batch,
      .heads = heads,
      .queries = queries,
      .keys = keys,
      .softmax_scale = 1 / std::sqrt(static_cast<float>(kDim)),
      .samples = probability > 0 ? samples.const_data_ptr<int64_t>() : nullptr,
      .seed = static_cast<uint64_t>(mask.rows.seed),
      .module = mask.module,
      .threshold = mask.threshold(),
      .scale = static_cast<float>(mask.scale())};
  const auto half = [&](int64_t i) {
    return HeadsOf(key_value.narrow(1, i * heads * kDim, heads * kDim).contiguous(), batch, heads);
  };
  const AttentionOracle oracle =
      Attend(HeadsOf(q, batch, heads), half(0), half(1), HeadsOf(grad, batch, heads),
             probability > 0 ? factors : at::Tensor());
  const at::Tensor out = NotANumber(q.sizes(), at::kBFloat16),
                   probabilities = NotANumber({batch, heads, queries, keys}, at::kBFloat16),
                   q_grad = NotANumber(q.sizes(), at::kBFloat16),
                   key_value_grad = NotANumber(key_value.sizes(), at::kBFloat16);
  C10_CUDA_CHECK(fused::CrossAttentionForward(attention, q.data_ptr(), key_value.data_ptr(),
                                              out.data_ptr(), probabilities.data_ptr(), Stream()));
  checks.Near(name + " probabilities", probabilities, oracle.probabilities, 1e-4);
  checks.Near(name + " forward", out, RowsOf(oracle.out), kOfLargest);
  const fused::CrossAttentionGrad gradients{.q = q.data_ptr(),
                                            .key_value = key_value.data_ptr(),
                                            .out = out.data_ptr(),
                                            .probabilities = probabilities.data_ptr(),
                                            .grad = grad.data_ptr(),
                                            .q_grad = q_grad.data_ptr(),
                                            .key_value_grad = key_value_grad.data_ptr()};
  C10_CUDA_CHECK(fused::CrossAttentionBackward(attention, gradients, Stream()));
  const double floor = keys == 1 ? kRoundingOfOne : 0;
  checks.Near(name + " q gradient", q_grad, RowsOf(oracle.q_grad), kOfLargest, floor);
  checks.Near(name + " key and value gradient", key_value_grad,
              at::cat({RowsOf(oracle.k_grad), RowsOf(oracle.v_grad)}, 1), kOfLargest, floor);
  const at::Tensor once = q_grad.clone();
  fused::CrossAttentionGrad frozen = gradients;
  frozen.key_value_grad = nullptr;
  C10_CUDA_CHECK(fused::CrossAttentionBackward(attention, frozen, Stream()));
  checks.Equal(name + " q gradient alone", q_grad, once);
}

}  // namespace

void CheckAttentions(Checks& checks) {
  for (const double probability : {0.0, 0.1}) {
    for (const auto& [queries, keys] :
         {std::pair<int64_t, int64_t>{32, 257}, {32, 32}, {5, 7}, {1, 1}, {17, 40}, {32, 577}}) {
      CheckCrossAttention(checks, 3, 12, queries, keys, probability);
    }
  }
}

}  // namespace trainctl::gpu
