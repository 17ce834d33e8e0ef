// Causal attention of each position to so many before it, itself included (Beltagy et al. 2020). On
// a GPU it is by the kernels that take a window: flash for 16 bits, memory-efficient for fp32. On a
// CPU it is by pieces (cpu_attention.h). Inside this room only.
#pragma once

#include "worker/rank/ops/attention.h"

namespace trainctl::ops {

// As the kernels take them: [batch, heads, length, padded D].
struct KernelHeads {
  at::Tensor q, k, v;
};

// _efficient_attention_forward's custom_mask_type.
inline constexpr int64_t kNoMask = 0, kCausalMask = 1;

// Whether there are positions that the window hides. CHECKs that the others are those before.
bool IsLocal(const HeadShape& shape);

AttentionSaved LocalAttention(const KernelHeads& heads, AttentionSaved::Backend backend,
                              const HeadShape& shape);
// dout and out as saved.out is, in the dtype of the heads.
KernelHeads LocalAttentionBackward(const at::Tensor& dout, const KernelHeads& heads,
                                   const at::Tensor& out, const AttentionSaved& saved,
                                   const HeadShape& shape);

}  // namespace trainctl::ops
