// Attention by the CPU's flash kernel. Of rows that reach beyond their window each piece of
// positions attends to what its window shows of the keys: what it hides of others costs nothing.
// Inside this room only.
#pragma once

#include "worker/rank/ops/local_attention.h"

namespace trainctl::ops {

AttentionSaved CpuAttention(const KernelHeads& heads, const HeadShape& shape);
// dout and out as saved.out is, in the dtype of the heads.
KernelHeads CpuAttentionBackward(const at::Tensor& dout, const KernelHeads& heads,
                                 const at::Tensor& out, const AttentionSaved& saved,
                                 const HeadShape& shape);

}  // namespace trainctl::ops
