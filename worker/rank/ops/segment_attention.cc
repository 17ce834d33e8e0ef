#include "worker/rank/ops/segment_attention.h"

#include <ATen/ops/_efficient_attention_backward.h>
#include <ATen/ops/_efficient_attention_forward.h>
#include <ATen/ops/_flash_attention_backward.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/repeat_interleave.h>

#include <optional>
#include <tuple>
#include <vector>

#include "worker/rank/ops/local_attention.h"

namespace trainctl::ops {
namespace {

using Backend = AttentionSaved::Backend;

constexpr int64_t kHeadDimMultiple = 8;  // of the GPU's kernels

// [N, heads, D padded]: as the kernels of variable length take them.
struct FlatHeads {
  at::Tensor q, k, v;
};

int64_t PaddingOf(const HeadShape& shape) {
  return (kHeadDimMultiple - shape.head_dim % kHeadDimMultiple) % kHeadDimMultiple;
}

at::Tensor Padded(const at::Tensor& heads, const HeadShape& shape) {
  const int64_t padding = PaddingOf(shape);
  return padding == 0 ? heads : at::constant_pad_nd(heads, {0, padding}, 0);
}

FlatHeads Flat(const at::Tensor& qkv, const HeadShape& s, Backend backend) {
  const at::Tensor heads = qkv.view({s.length, s.heads + 2 * s.kv_heads, s.head_dim});
  FlatHeads flat{heads.narrow(1, 0, s.heads), heads.narrow(1, s.heads, s.kv_heads),
                 heads.narrow(1, s.heads + s.kv_heads, s.kv_heads)};
  if (backend == Backend::kEfficient && s.heads != s.kv_heads) {
    flat.k = at::repeat_interleave(flat.k, s.heads / s.kv_heads, 1);
    flat.v = at::repeat_interleave(flat.v, s.heads / s.kv_heads, 1);
  }
  return {Padded(flat.q, s), Padded(flat.k, s), Padded(flat.v, s)};
}

// Of flash: positions before one's own that it attends to; none: all of them.
std::optional<int64_t> LeftOf(const HeadShape& s) {
  return IsLocal(s) ? std::optional(s.window - 1) : std::nullopt;
}
std::optional<int64_t> RightOf(const HeadShape& s) {
  return IsLocal(s) ? std::optional<int64_t>(0) : std::nullopt;
}
// Of the memory-efficient kernels.
std::optional<int64_t> WindowOf(const HeadShape& s) {
  return IsLocal(s) ? std::optional(s.window) : std::nullopt;
}

// [N, heads, D padded] ↔ [1, heads, N, D padded].
at::Tensor AsBatch(const at::Tensor& flat) { return flat.transpose(0, 1).unsqueeze(0); }
at::Tensor AsFlat(const at::Tensor& batch) { return batch.squeeze(0).transpose(0, 1); }

// The gradient of `heads` heads, without padding; those of heads that shared one are summed.
at::Tensor Finished(const at::Tensor& flat, int64_t heads, const HeadShape& s) {
  const at::Tensor own = flat.narrow(2, 0, s.head_dim);
  if (own.size(1) == heads) return AsBatch(own);
  return AsBatch(own.reshape({s.length, heads, own.size(1) / heads, s.head_dim}).sum(2));
}

// That of one segment.
HeadShape OwnShape(const HeadShape& shape, int64_t segment) {
  HeadShape own = shape;
  own.length = shape.segments->length(segment);
  own.segments = nullptr;
  return own;
}

std::pair<at::Tensor, AttentionSaved> RowByRow(const at::Tensor& qkv, const HeadShape& s) {
  const at::Tensor rows = at::empty({s.length, s.heads * s.head_dim}, qkv.options());
  std::vector<at::Tensor> sums;
  for (int64_t i = 0; i < s.segments->size(); ++i) {
    const int64_t begin = s.segments->begins[i], length = s.segments->length(i);
    const auto [own, saved] =
        Attention(qkv.narrow(0, begin, length), OwnShape(s, i), /*deterministic=*/true);
    rows.narrow(0, begin, length).copy_(own);
    sums.push_back(saved.logsumexp);
  }
  return {rows,
          {.backend = Backend::kCpu,
           .out = AsBatch(rows.view({s.length, s.heads, s.head_dim})),
           .logsumexp = at::cat(sums, 2)}};
}

AttentionGrads RowByRowBackward(const at::Tensor& grad, const at::Tensor& qkv,
                                const AttentionSaved& saved, const HeadShape& s) {
  const auto empty = [&](int64_t heads) {
    return AsBatch(at::empty({s.length, heads, s.head_dim}, qkv.options()));
  };
  const AttentionGrads grads{empty(s.heads), empty(s.kv_heads), empty(s.kv_heads)};
  for (int64_t i = 0; i < s.segments->size(); ++i) {
    const int64_t begin = s.segments->begins[i], length = s.segments->length(i);
    const AttentionSaved of_segment{.backend = saved.backend,
                                    .out = saved.out.narrow(2, begin, length),
                                    .logsumexp = saved.logsumexp.narrow(2, begin, length)};
    const AttentionGrads own = AttentionBackward(
        grad.narrow(0, begin, length), qkv.narrow(0, begin, length), of_segment, OwnShape(s, i));
    grads.q.narrow(2, begin, length).copy_(own.q);
    grads.k.narrow(2, begin, length).copy_(own.k);
    grads.v.narrow(2, begin, length).copy_(own.v);
  }
  return grads;
}

AttentionSaved Flash(const FlatHeads& h, const HeadShape& s) {
  const Segments& segments = *s.segments;
  const auto result = at::_flash_attention_forward(
      h.q, h.k, h.v, segments.offsets, segments.offsets, segments.longest, segments.longest, 0,
      s.is_causal, /*return_debug_mask=*/false, ScaleOf(s), LeftOf(s), RightOf(s));
  return {.backend = Backend::kFlash,
          .out = AsBatch(std::get<0>(result)),
          .logsumexp = std::get<1>(result),
          .philox_seed = std::get<2>(result),
          .philox_offset = std::get<3>(result)};
}

AttentionSaved Efficient(const FlatHeads& h, const HeadShape& s) {
  const Segments& segments = *s.segments;
  const auto result = at::_efficient_attention_forward(
      h.q.unsqueeze(0), h.k.unsqueeze(0), h.v.unsqueeze(0), std::nullopt, segments.offsets,
      segments.offsets, segments.longest, segments.longest, 0, s.is_causal ? kCausalMask : kNoMask,
      /*compute_log_sumexp=*/true, ScaleOf(s), {}, WindowOf(s));
  return {.backend = Backend::kEfficient,
          .out = AsBatch(std::get<0>(result).squeeze(0)),
          .logsumexp = std::get<1>(result),
          .philox_seed = std::get<2>(result),
          .philox_offset = std::get<3>(result)};
}

FlatHeads FlashBackward(const at::Tensor& dout, const FlatHeads& h, const AttentionSaved& saved,
                        const HeadShape& s) {
  const Segments& segments = *s.segments;
  FlatHeads grads;
  std::tie(grads.q, grads.k, grads.v) = at::_flash_attention_backward(
      dout, h.q, h.k, h.v, AsFlat(saved.out), saved.logsumexp, segments.offsets, segments.offsets,
      segments.longest, segments.longest, 0, s.is_causal, saved.philox_seed, saved.philox_offset,
      ScaleOf(s), LeftOf(s), RightOf(s));
  return grads;
}

FlatHeads EfficientBackward(const at::Tensor& dout, const FlatHeads& h, const AttentionSaved& saved,
                            const HeadShape& s) {
  const Segments& segments = *s.segments;
  const auto result = at::_efficient_attention_backward(
      dout.unsqueeze(0), h.q.unsqueeze(0), h.k.unsqueeze(0), h.v.unsqueeze(0), std::nullopt,
      AsFlat(saved.out).unsqueeze(0), segments.offsets, segments.offsets, segments.longest,
      segments.longest, saved.logsumexp, 0, saved.philox_seed, saved.philox_offset,
      s.is_causal ? kCausalMask : kNoMask, /*bias_requires_grad=*/false, ScaleOf(s), std::nullopt,
      WindowOf(s));
  return {std::get<0>(result).squeeze(0), std::get<1>(result).squeeze(0),
          std::get<2>(result).squeeze(0)};
}

}  // namespace

std::pair<at::Tensor, AttentionSaved> SegmentAttention(const at::Tensor& qkv, const HeadShape& s) {
  if (qkv.is_cpu()) return RowByRow(qkv, s);
  const Backend backend = qkv.scalar_type() == at::kFloat ? Backend::kEfficient : Backend::kFlash;
  const FlatHeads flat = Flat(qkv, s, backend);
  AttentionSaved saved = backend == Backend::kFlash ? Flash(flat, s) : Efficient(flat, s);
  const at::Tensor rows =
      AsFlat(saved.out).narrow(2, 0, s.head_dim).reshape({s.length, s.heads * s.head_dim});
  return {rows, std::move(saved)};
}

AttentionGrads SegmentAttentionBackward(const at::Tensor& grad, const at::Tensor& qkv,
                                        const AttentionSaved& saved, const HeadShape& s) {
  if (saved.backend == Backend::kCpu) return RowByRowBackward(grad, qkv, saved, s);
  const FlatHeads flat = Flat(qkv, s, saved.backend);
  const at::Tensor dout = Padded(grad.view({s.length, s.heads, s.head_dim}), s);
  const FlatHeads grads = saved.backend == Backend::kFlash
                              ? FlashBackward(dout, flat, saved, s)
                              : EfficientBackward(dout, flat, saved, s);
  return {Finished(grads.q, s.heads, s), Finished(grads.k, s.kv_heads, s),
          Finished(grads.v, s.kv_heads, s)};
}

}  // namespace trainctl::ops
