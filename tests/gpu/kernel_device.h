// Tensors on the device that the kernels are tried on, and their way into worker/rank/ops/fused.h.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

#include "worker/rank/ops/fused.h"

namespace trainctl::gpu {

inline cudaStream_t Stream() { return c10::cuda::getCurrentCUDAStream().stream(); }

inline at::TensorOptions On(at::ScalarType type) {
  return at::TensorOptions().device(at::kCUDA).dtype(type);
}

inline ops::fused::Type TypeOf(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kBFloat16 ? ops::fused::Type::kBf16 : ops::fused::Type::kF32;
}

inline at::Tensor Random(at::IntArrayRef shape, at::ScalarType type) {
  return at::randn(shape, On(at::kFloat)).to(type);
}

// The same values in memory that no 16-byte piece fits: one element off.
inline at::Tensor Misaligned(const at::Tensor& tensor) {
  const at::Tensor memory = at::empty({tensor.numel() + 1}, tensor.options());
  const at::Tensor shifted = memory.narrow(0, 1, tensor.numel()).view(tensor.sizes());
  shifted.copy_(tensor);
  return shifted;
}

}  // namespace trainctl::gpu
