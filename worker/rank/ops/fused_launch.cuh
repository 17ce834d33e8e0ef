// From a description with run-time dtypes to one instance of a kernel.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "worker/rank/ops/fused.h"

namespace trainctl::ops::fused {

// The first statement of every kernel, before it touches device memory. From Hopper on a kernel
// begins while the one before it ends (programmatic dependent launch): this waits for that end, and
// lets the next kernel begin.
__device__ inline void AwaitPrevious() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
#endif
}

struct LaunchShape {
  dim3 grid, block;
  size_t shared_bytes = 0;
  dim3 cluster = {1, 1, 1};  // of blocks; one more only where the device has clusters
};

inline cudaError_t ComputeCapabilityMajor(int& major) {
  int device = 0;
  const cudaError_t error = cudaGetDevice(&device);
  return error != cudaSuccess
             ? error
             : cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
}

template <class... Parameters, class... Arguments>
cudaError_t Launch(void (*kernel)(Parameters...), const LaunchShape& shape, cudaStream_t stream,
                   Arguments... arguments) {
  int major = 0;
  if (const cudaError_t error = ComputeCapabilityMajor(major); error != cudaSuccess) return error;
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {shape.cluster.x, shape.cluster.y, shape.cluster.z};
  const bool is_clustered = shape.cluster.x * shape.cluster.y * shape.cluster.z > 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = major < 9 ? 0 : is_clustered ? 2 : 1;
  return cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
}

template <class... Parameters, class... Arguments>
cudaError_t Launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, cudaStream_t stream,
                   Arguments... arguments) {
  return Launch(kernel, LaunchShape{.grid = grid, .block = block}, stream, arguments...);
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
