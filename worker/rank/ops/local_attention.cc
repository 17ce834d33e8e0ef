#include "worker/rank/ops/local_attention.h"

#include <ATen/ops/_efficient_attention_backward.h>
#include <ATen/ops/_efficient_attention_forward.h>
#include <ATen/ops/_flash_attention_backward.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "common/base/check.h"

namespace trainctl::ops {
namespace {

using Backend = AttentionSaved::Backend;

constexpr int64_t kCausalMaskType = 1;  // of _efficient_attention_forward

double ScaleOfHeads(const HeadShape& shape) {
  return 1.0 / std::sqrt(static_cast<double>(shape.head_dim));
}

// [batch, heads, length, D] ↔ [batch, length, heads, D].
at::Tensor Swapped(const at::Tensor& heads) { return heads.transpose(1, 2); }

// [length, length] fp32: −∞ where a row does not attend to a column.
at::Tensor MaskOf(const HeadShape& s) {
  const at::Tensor mask = at::zeros({s.length, s.length}, at::TensorOptions().dtype(at::kFloat));
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  float* row = mask.mutable_data_ptr<float>();
  for (int64_t i = 0; i < s.length; ++i, row += s.length) {
    std::fill(row, row + std::max<int64_t>(0, i + 1 - s.window), kHidden);
    std::fill(row + i + 1, row + s.length, kHidden);
  }
  return mask;
}

}  // namespace

bool IsLocal(const HeadShape& s) {
  const int64_t length = s.segments ? s.segments->longest : s.length;
  const bool is_local = s.window > 0 && s.window < length;
  CHECK(!is_local || s.is_causal) << "a window of " << s.window << " in both directions";
  return is_local;
}

AttentionSaved LocalAttention(const KernelHeads& h, Backend backend, const HeadShape& s) {
  AttentionSaved saved{.backend = backend};
  const double scale = ScaleOfHeads(s);
  if (backend == Backend::kCpu) {
    std::tie(saved.out, saved.logsumexp) = at::_scaled_dot_product_flash_attention_for_cpu(
        h.q, h.k, h.v, 0, /*is_causal=*/false, MaskOf(s), scale);
  } else if (backend == Backend::kEfficient) {
    const auto result = at::_efficient_attention_forward(
        Swapped(h.q), Swapped(h.k), Swapped(h.v), std::nullopt, std::nullopt, std::nullopt,
        std::nullopt, std::nullopt, 0, kCausalMaskType, /*compute_log_sumexp=*/true, scale, {},
        s.window);
    saved.out = Swapped(std::get<0>(result));
    saved.logsumexp = std::get<1>(result);
    saved.philox_seed = std::get<2>(result);
    saved.philox_offset = std::get<3>(result);
  } else {
    CHECK(backend == Backend::kFlash);
    const auto result = at::_flash_attention_forward(
        Swapped(h.q), Swapped(h.k), Swapped(h.v), std::nullopt, std::nullopt, s.length, s.length, 0,
        s.is_causal, /*return_debug_mask=*/false, scale, s.window - 1, 0);
    saved.out = Swapped(std::get<0>(result));
    saved.logsumexp = std::get<1>(result);
    saved.philox_seed = std::get<2>(result);
    saved.philox_offset = std::get<3>(result);
  }
  return saved;
}

KernelHeads LocalAttentionBackward(const at::Tensor& dout, const KernelHeads& h,
                                   const at::Tensor& out, const AttentionSaved& saved,
                                   const HeadShape& s) {
  const double scale = ScaleOfHeads(s);
  KernelHeads grads;
  if (saved.backend == Backend::kCpu) {
    std::tie(grads.q, grads.k, grads.v) = at::_scaled_dot_product_flash_attention_for_cpu_backward(
        dout, h.q, h.k, h.v, out, saved.logsumexp, 0, /*is_causal=*/false, MaskOf(s), scale);
    return grads;
  }
  if (saved.backend == Backend::kEfficient) {
    at::Tensor unused;
    std::tie(grads.q, grads.k, grads.v, unused) = at::_efficient_attention_backward(
        Swapped(dout), Swapped(h.q), Swapped(h.k), Swapped(h.v), std::nullopt, Swapped(out),
        std::nullopt, std::nullopt, s.length, s.length, saved.logsumexp, 0, saved.philox_seed,
        saved.philox_offset, kCausalMaskType, /*bias_requires_grad=*/false, scale, std::nullopt,
        s.window);
  } else {
    std::tie(grads.q, grads.k, grads.v) = at::_flash_attention_backward(
        Swapped(dout), Swapped(h.q), Swapped(h.k), Swapped(h.v), Swapped(out), saved.logsumexp, {},
        {}, s.length, s.length, 0, s.is_causal, saved.philox_seed, saved.philox_offset, scale,
        s.window - 1, 0);
  }
  return {Swapped(grads.q), Swapped(grads.k), Swapped(grads.v)};
}

}  // namespace trainctl::ops
