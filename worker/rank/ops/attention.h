// Scaled-dot-product attention, causal or not, over packed q, k, v, through LibTorch's raw forward
// and backward kernels: cuDNN or flash (Dao 2023) for 16-bit CUDA, memory-efficient for fp32 CUDA,
// the CPU's flash kernel there (in fp32). Where rows attend to their own past only, right-padding
// needs no mask. Packed rows are attended to apart (segment_attention.h), and rows longer than
// their window by other kernels (local_attention.h, cpu_attention.h). head_dim of any size:
// padded to a multiple of 8 where a kernel wants that.
#pragma once

#include <ATen/core/Tensor.h>

#include "worker/rank/ops/kernels.h"

namespace trainctl::ops {

// What the backward needs besides qkv.
struct AttentionSaved {
  enum class Backend { kCpu, kEfficient, kFlash, kCudnn };
  Backend backend = Backend::kCpu;
  at::Tensor out;        // [batch, heads, length, padded D], the kernel's own layout
  at::Tensor logsumexp;  // fp32
  at::Tensor philox_seed, philox_offset;
};

struct AttentionGrads {
  at::Tensor q, k, v;  // [batch, heads or kv_heads, length, D], strides as they come
};

// Of the scores: 1 / √D.
double ScaleOf(const HeadShape& shape);

// qkv [N, packed] (rotated already) → [N, heads · D]. deterministic: a backend whose backward adds
// in a fixed order.
std::pair<at::Tensor, AttentionSaved> Attention(const at::Tensor& qkv, const HeadShape& shape,
                                                bool deterministic);

// grad [N, heads · D].
AttentionGrads AttentionBackward(const at::Tensor& grad, const at::Tensor& qkv,
                                 const AttentionSaved& saved, const HeadShape& shape);

}  // namespace trainctl::ops
