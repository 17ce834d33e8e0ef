// Attention of packed rows, each to itself alone. On a GPU it is by the kernels of variable length:
// flash for 16 bits, memory-efficient for fp32. On a CPU it is row by row. Inside this room only.
#pragma once

#include "worker/rank/ops/attention.h"

namespace trainctl::ops {

// As Attention and AttentionBackward of a shape with segments: batch is 1, and length is N.
std::pair<at::Tensor, AttentionSaved> SegmentAttention(const at::Tensor& qkv,
                                                       const HeadShape& shape);
AttentionGrads SegmentAttentionBackward(const at::Tensor& grad, const at::Tensor& qkv,
                                        const AttentionSaved& saved, const HeadShape& shape);

}  // namespace trainctl::ops
