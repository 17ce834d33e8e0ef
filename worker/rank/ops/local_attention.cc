#include "worker/rank/ops/local_attention.h"

#include <ATen/ops/_efficient_attention_backward.h>
#include <ATen/ops/_efficient_attention_forward.h>
#include <ATen/ops/_flash_attention_backward.h>
#include <ATen/ops/_flash_attention_forward.h>

#include <tuple>

#include "common/base/check.h"
#include "worker/rank/ops/cpu_attention.h"

namespace trainctl::ops {
namespace {

using Backend = AttentionSaved::Backend;

// [batch, heads, length, D] ↔ [batch, length, heads, D].
at::Tensor Swapped(const at::Tensor& heads) { return heads.transpose(1, 2); }

}  // namespace

bool IsLocal(const HeadShape& s) {
  const int64_t length = s.segments ? s.segments->longest : s.length;
  const bool is_local = s.window > 0 && s.window < length;
  CHECK(!is_local || s.is_causal) << "a window of " << s.window << " in both directions";
  return is_local;
}

AttentionSaved LocalAttention(const KernelHeads& h, Backend backend, const HeadShape& s) {
  if (backend == Backend::kCpu) return CpuAttention(h, s);
  AttentionSaved saved{.backend = backend};
  const double scale = ScaleOf(s);
  if (backend == Backend::kEfficient) {
    const auto result = at::_efficient_attention_forward(
        Swapped(h.q), Swapped(h.k), Swapped(h.v), std::nullopt, std::nullopt, std::nullopt,
        std::nullopt, std::nullopt, 0, kCausalMask, /*compute_log_sumexp=*/true, scale, {},
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
  if (saved.backend == Backend::kCpu) return CpuAttentionBackward(dout, h, out, saved, s);
  const double scale = ScaleOf(s);
  KernelHeads grads;
  if (saved.backend == Backend::kEfficient) {
    at::Tensor unused;
    std::tie(grads.q, grads.k, grads.v, unused) = at::_efficient_attention_backward(
        Swapped(dout), Swapped(h.q), Swapped(h.k), Swapped(h.v), std::nullopt, Swapped(out),
        std::nullopt, std::nullopt, s.length, s.length, saved.logsumexp, 0, saved.philox_seed,
        saved.philox_offset, kCausalMask, /*bias_requires_grad=*/false, scale, std::nullopt,
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
