// From a description with run-time dtypes to one instance of a kernel.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "worker/rank/ops/fused.h"

namespace trainctl::ops::fused {

template <class... Parameters, class... Arguments>
cudaError_t Launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, cudaStream_t stream,
                   Arguments... arguments) {
  kernel<<<grid, block, 0, stream>>>(static_cast<Parameters>(arguments)...);
  return cudaGetLastError();
}

// body(T()) with the C++ type of the dtype.
template <class Body>
cudaError_t ForType(Type type, const Body& body) {
  return type == Type::kBf16 ? body(__nv_bfloat16()) : body(float());
}

inline int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Whole warps, at least one, at most `most`.
inline unsigned Threads(int64_t wanted, int64_t most) {
  return static_cast<unsigned>(std::clamp<int64_t>(CeilDiv(wanted, 32) * 32, 32, most));
}

inline unsigned Grid(int64_t blocks) { return static_cast<unsigned>(blocks); }

// Enough blocks for an element-wise kernel that strides over its grid: nothing it computes depends
// on their number.
inline unsigned StridedGrid(int64_t items, int threads) {
  constexpr int64_t kBlocks = 132 * 16;
  return static_cast<unsigned>(std::clamp<int64_t>(CeilDiv(items, threads), 1, kBlocks));
}

}  // namespace trainctl::ops::fused
