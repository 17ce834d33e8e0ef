#include "worker/rank/ops/cpu_attention.h"

#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "common/model/layout.h"

namespace trainctl::ops {
namespace {

// Neighbouring positions, the keys that one of them attends to, and which of them each does.
struct WindowPiece {
  int64_t begin = 0, count = 0;
  int64_t first_key = 0, keys = 0;
  at::Tensor mask;  // [count, keys] fp32: −∞ where a position does not attend to a key

  at::Tensor Queries(const at::Tensor& heads) const { return heads.narrow(2, begin, count); }
  at::Tensor Keys(const at::Tensor& heads) const { return heads.narrow(2, first_key, keys); }
  KernelHeads Of(const KernelHeads& h) const { return {Queries(h.q), Keys(h.k), Keys(h.v)}; }
};

// [count, count + window − 1]: position i attends to the keys from i on, `window` of them.
at::Tensor Band(int64_t count, int64_t window) {
  const int64_t keys = count + window - 1;
  const at::Tensor band = at::full({count, keys}, -std::numeric_limits<float>::infinity(),
                                   at::TensorOptions().dtype(at::kFloat));
  float* row = band.mutable_data_ptr<float>();
  for (int64_t i = 0; i < count; ++i, row += keys) std::fill_n(row + i, window, 0.0f);
  return band;
}

std::vector<WindowPiece> PiecesOf(const HeadShape& s) {
  const int64_t most = std::min(s.window, job::kMostWindowPiece);
  const at::Tensor band = Band(most, s.window);
  std::vector<WindowPiece> pieces;
  for (int64_t begin = 0; begin < s.length; begin += most) {
    const int64_t count = std::min(most, s.length - begin);
    const int64_t window_begin = begin + 1 - s.window;  // of the piece's first position
    const int64_t first_key = std::max<int64_t>(0, window_begin), keys = begin + count - first_key;
    pieces.push_back({begin, count, first_key, keys,
                      band.narrow(0, 0, count).narrow(1, first_key - window_begin, keys)});
  }
  return pieces;
}

// [batch, heads, length, D], as the kernel lays it out.
std::vector<int64_t> KernelSizes(const at::Tensor& heads) {
  return {heads.size(0), heads.size(2), heads.size(1), heads.size(3)};
}

KernelHeads KernelBackward(const at::Tensor& dout, const KernelHeads& h, const at::Tensor& out,
                           const at::Tensor& logsumexp, bool is_causal,
                           const std::optional<at::Tensor>& mask, double scale) {
  KernelHeads grads;
  std::tie(grads.q, grads.k, grads.v) = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      dout, h.q, h.k, h.v, out, logsumexp, 0, is_causal, mask, scale);
  return grads;
}

}  // namespace

AttentionSaved CpuAttention(const KernelHeads& h, const HeadShape& s) {
  const auto kernel = [&](const KernelHeads& of, bool is_causal,
                          const std::optional<at::Tensor>& mask) {
    return at::_scaled_dot_product_flash_attention_for_cpu(of.q, of.k, of.v, 0, is_causal, mask,
                                                           ScaleOf(s));
  };
  AttentionSaved saved{.backend = AttentionSaved::Backend::kCpu};
  if (!IsLocal(s)) {
    std::tie(saved.out, saved.logsumexp) = kernel(h, s.is_causal, std::nullopt);
    return saved;
  }
  saved.out = at::empty(KernelSizes(h.q), h.q.options()).transpose(1, 2);
  std::vector<at::Tensor> sums;
  for (const WindowPiece& piece : PiecesOf(s)) {
    const auto [out, sum] = kernel(piece.Of(h), /*is_causal=*/false, piece.mask);
    piece.Queries(saved.out).copy_(out);
    sums.push_back(sum);
  }
  saved.logsumexp = at::cat(sums, 2);
  return saved;
}

KernelHeads CpuAttentionBackward(const at::Tensor& dout, const KernelHeads& h,
                                 const at::Tensor& out, const AttentionSaved& saved,
                                 const HeadShape& s) {
  const double scale = ScaleOf(s);
  if (!IsLocal(s))
    return KernelBackward(dout, h, out, saved.logsumexp, s.is_causal, std::nullopt, scale);
  const KernelHeads grads{at::empty(KernelSizes(h.q), h.q.options()).transpose(1, 2),
                          at::zeros(KernelSizes(h.k), h.k.options()).transpose(1, 2),
                          at::zeros(KernelSizes(h.v), h.v.options()).transpose(1, 2)};
  for (const WindowPiece& piece : PiecesOf(s)) {
    const KernelHeads own =
        KernelBackward(piece.Queries(dout), piece.Of(h), piece.Queries(out),
                       piece.Queries(saved.logsumexp), /*is_causal=*/false, piece.mask, scale);
    piece.Queries(grads.q).copy_(own.q);
    piece.Keys(grads.k).add_(own.k);
    piece.Keys(grads.v).add_(own.v);
  }
  return grads;
}

}  // namespace trainctl::ops
