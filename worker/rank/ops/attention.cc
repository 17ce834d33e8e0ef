#include "worker/rank/ops/attention.h"

#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention_backward.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention_backward.h>
#include <ATen/ops/_scaled_dot_product_flash_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_backward.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/repeat_interleave.h>
#include <ATen/record_function.h>

#include <cmath>
#include <tuple>

#include "worker/rank/ops/cpu_attention.h"
#include "worker/rank/ops/local_attention.h"
#include "worker/rank/ops/segment_attention.h"
#include "worker/rank/profile/range_names.h"

namespace trainctl::ops {
namespace {

using Backend = AttentionSaved::Backend;

Backend Choose(const at::Tensor& qkv, const HeadShape& shape, bool deterministic) {
  if (qkv.is_cpu()) return Backend::kCpu;
  if (qkv.scalar_type() == at::kFloat) return Backend::kEfficient;
  const bool cudnn = !IsLocal(shape) && !deterministic && shape.heads == shape.kv_heads &&
                     shape.head_dim % 8 == 0 && shape.head_dim <= 128;
  return cudnn ? Backend::kCudnn : Backend::kFlash;
}

bool NeedsEqualHeads(Backend backend) {
  return backend == Backend::kCpu || backend == Backend::kEfficient;
}

int64_t Padding(Backend backend, int64_t head_dim) {
  return backend == Backend::kCpu ? 0 : (8 - head_dim % 8) % 8;
}

at::Tensor Pad(const at::Tensor& heads, int64_t padding) {
  return padding == 0 ? heads : at::constant_pad_nd(heads, {0, padding}, 0);
}

at::Tensor Unpad(const at::Tensor& heads, int64_t head_dim) {
  return heads.size(3) == head_dim ? heads : heads.narrow(3, 0, head_dim);
}

// The kernel's view of qkv: split, widened on CPU, kv heads repeated where the kernel wants as many
// as q's, D padded.
KernelHeads Prepare(const at::Tensor& qkv, const HeadShape& s, Backend backend) {
  const bool widen = backend == Backend::kCpu && qkv.scalar_type() == at::kBFloat16;
  const at::Tensor heads = (widen ? qkv.to(at::kFloat) : qkv)
                               .view({s.batch, s.length, s.heads + 2 * s.kv_heads, s.head_dim})
                               .transpose(1, 2);
  KernelHeads result{heads.narrow(1, 0, s.heads), heads.narrow(1, s.heads, s.kv_heads),
                     heads.narrow(1, s.heads + s.kv_heads, s.kv_heads)};
  if (NeedsEqualHeads(backend) && s.heads != s.kv_heads) {
    result.k = at::repeat_interleave(result.k, s.heads / s.kv_heads, 1);
    result.v = at::repeat_interleave(result.v, s.heads / s.kv_heads, 1);
  }
  const int64_t padding = Padding(backend, s.head_dim);
  return {Pad(result.q, padding), Pad(result.k, padding), Pad(result.v, padding)};
}

// Undoes repeat_interleave: the sum over the q heads that shared a kv head.
at::Tensor SumGroups(const at::Tensor& grad, const HeadShape& s) {
  if (grad.size(1) == s.kv_heads) return grad;
  return grad.reshape({s.batch, s.kv_heads, s.heads / s.kv_heads, s.length, grad.size(3)}).sum(2);
}

// Of rows that attend to all others of their sample, or to all before them.
AttentionSaved WholeAttention(const KernelHeads& h, Backend backend, const HeadShape& s) {
  AttentionSaved saved{.backend = backend};
  const double scale = ScaleOf(s);
  switch (backend) {
    case Backend::kCpu: return CpuAttention(h, s);
    case Backend::kEfficient:
      std::tie(saved.out, saved.logsumexp, saved.philox_seed, saved.philox_offset) =
          at::_scaled_dot_product_efficient_attention(h.q, h.k, h.v, std::nullopt,
                                                      /*compute_log_sumexp=*/true, 0, s.is_causal,
                                                      scale);
      break;
    case Backend::kFlash: {
      auto result =
          at::_scaled_dot_product_flash_attention(h.q, h.k, h.v, 0, s.is_causal, false, scale);
      saved.out = std::get<0>(result);
      saved.logsumexp = std::get<1>(result);
      saved.philox_seed = std::get<6>(result);
      saved.philox_offset = std::get<7>(result);
      break;
    }
    case Backend::kCudnn: {
      auto result = at::_scaled_dot_product_cudnn_attention(h.q, h.k, h.v, std::nullopt, true, 0,
                                                            s.is_causal, false, scale);
      saved.out = std::get<0>(result);
      saved.logsumexp = std::get<1>(result);
      saved.philox_seed = std::get<6>(result);
      saved.philox_offset = std::get<7>(result);
      break;
    }
  }
  return saved;
}

KernelHeads WholeAttentionBackward(const at::Tensor& dout, const KernelHeads& h,
                                   const at::Tensor& out, const AttentionSaved& saved,
                                   const HeadShape& s) {
  const double scale = ScaleOf(s);
  KernelHeads g;
  switch (saved.backend) {
    case Backend::kCpu: return CpuAttentionBackward(dout, h, out, saved, s);
    case Backend::kEfficient: {
      at::Tensor unused;
      std::tie(g.q, g.k, g.v, unused) = at::_scaled_dot_product_efficient_attention_backward(
          dout, h.q, h.k, h.v, {}, out, saved.logsumexp, saved.philox_seed, saved.philox_offset, 0,
          {true, true, true, false}, s.is_causal, scale);
      break;
    }
    case Backend::kFlash:
      std::tie(g.q, g.k, g.v) = at::_scaled_dot_product_flash_attention_backward(
          dout, h.q, h.k, h.v, out, saved.logsumexp, {}, {}, s.length, s.length, 0, s.is_causal,
          saved.philox_seed, saved.philox_offset, scale);
      break;
    case Backend::kCudnn:
      std::tie(g.q, g.k, g.v) = at::_scaled_dot_product_cudnn_attention_backward(
          dout, h.q, h.k, h.v, out, saved.logsumexp, saved.philox_seed, saved.philox_offset, {}, {},
          {}, s.length, s.length, 0, s.is_causal, scale);
      break;
  }
  return g;
}

}  // namespace

double ScaleOf(const HeadShape& shape) {
  return 1.0 / std::sqrt(static_cast<double>(shape.head_dim));
}

std::pair<at::Tensor, AttentionSaved> Attention(const at::Tensor& qkv, const HeadShape& s,
                                                bool deterministic) {
  RECORD_USER_SCOPE(profile::kAttentionRange);
  if (s.segments) return SegmentAttention(qkv, s);
  const Backend backend = Choose(qkv, s, deterministic);
  const KernelHeads h = Prepare(qkv, s, backend);
  AttentionSaved saved = IsLocal(s) ? LocalAttention(h, backend, s) : WholeAttention(h, backend, s);
  if (saved.out.scalar_type() != qkv.scalar_type()) saved.out = saved.out.to(qkv.scalar_type());
  const at::Tensor rows = Unpad(saved.out, s.head_dim)
                              .transpose(1, 2)
                              .reshape({s.batch * s.length, s.heads * s.head_dim});
  return {rows, std::move(saved)};
}

AttentionGrads AttentionBackward(const at::Tensor& grad, const at::Tensor& qkv,
                                 const AttentionSaved& saved, const HeadShape& s) {
  RECORD_USER_SCOPE(profile::kAttentionRange);
  if (s.segments) return SegmentAttentionBackward(grad, qkv, saved, s);
  const KernelHeads h = Prepare(qkv, s, saved.backend);
  const at::Tensor out = saved.out.to(h.q.scalar_type());
  const at::Tensor dout =
      Pad(grad.view({s.batch, s.length, s.heads, s.head_dim}).transpose(1, 2).to(h.q.scalar_type()),
          Padding(saved.backend, s.head_dim));
  const KernelHeads g = IsLocal(s) ? LocalAttentionBackward(dout, h, out, saved, s)
                                   : WholeAttentionBackward(dout, h, out, saved, s);
  const auto finish = [&](const at::Tensor& t) {
    return Unpad(t, s.head_dim).to(qkv.scalar_type());
  };
  return {finish(g.q), SumGroups(finish(g.k), s), SumGroups(finish(g.v), s)};
}

}  // namespace trainctl::ops
