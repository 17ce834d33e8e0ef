// Kernels by the fused CUDA kernels of fused.h, for bf16 and fp32 tensors on a CUDA device.
#pragma once

#include "worker/rank/ops/kernels.h"

namespace trainctl::ops {

const Kernels& FusedKernels();

}  // namespace trainctl::ops
