// Nf4Quantize and Nf4DequantizeInto by the fused CUDA kernels of fused.h, bit for bit as the plain
// ones.
#pragma once

#include "worker/rank/ops/nf4.h"

namespace trainctl::ops {

// values on a CUDA device.
Nf4Matrix FusedNf4Quantize(const at::Tensor& values, bool double_quantization);
// out: dense, bf16 or fp32. map: DynamicMap(true) on the device; read under double quantization
// only.
void FusedNf4DequantizeInto(const at::Tensor& out, const Nf4Matrix& matrix, const at::Tensor& map);

}  // namespace trainctl::ops
