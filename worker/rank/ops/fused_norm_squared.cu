// The sum of squares of a flat buffer, for the gradient norm: a fixed number of blocks each sum
// every so-many-th piece in fp64, then one block adds their sums in order. fp64 costs nothing here:
// the kernel waits for memory.
#include "worker/rank/ops/fused_launch.cuh"
#include "worker/rank/ops/fused_pack.cuh"
#include "worker/rank/ops/fused_reduce.cuh"

namespace trainctl::ops::fused {
namespace {

constexpr int kBlocks = static_cast<int>(kNormWorkspaceDoubles);
constexpr int kThreads = 512;

// Squares of eight are added in fp32: products of bf16 are exact there, and eight of them lose less
// than the input's own rounding.
template <class T, int W>
__device__ double SquaresOf(const T* values) {
  const auto pack = Load<W>(values);
  float sum = 0;
  for (int k = 0; k < W; ++k) {
    sum += ToFloat(pack.value[k]) * ToFloat(pack.value[k]);
  }
  return sum;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    SumSquaresKernel(const T* values, int64_t count, double* block_sums) {
  AwaitPrevious();
  const int64_t thread = blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x;
  const int64_t pieces = count / kWide;
  double sum = 0;
#pragma unroll 4
  for (int64_t piece = thread; piece < pieces; piece += static_cast<int64_t>(kBlocks) * kThreads) {
    sum += SquaresOf<T, kWide>(values + piece * kWide);
  }
  if (thread < count - pieces * kWide) {
    sum += SquaresOf<T, 1>(values + pieces * kWide + thread);
  }
  sum = BlockSum(sum, 0);
  if (threadIdx.x == 0) {
    block_sums[blockIdx.x] = sum;
  }
}

__global__ void __launch_bounds__(kBlocks)
    AddBlockSumsKernel(const double* block_sums, double beta, double* sum) {
  AwaitPrevious();
  const double total = BlockSum(block_sums[threadIdx.x], 0);
  if (threadIdx.x == 0) {
    *sum = beta == 0 ? total : beta * *sum + total;
  }
}

}  // namespace

cudaError_t AddNormSquared(Type type, int64_t count, const void* values, double beta, double* sum,
                           double* workspace, cudaStream_t stream) {
  if (count < 0 || !IsAligned(values)) {
    return cudaErrorInvalidValue;
  }
  const cudaError_t error = ForType(type, [&](auto tag) {
    using T = decltype(tag);
    return Launch(SumSquaresKernel<T>, kBlocks, kThreads, stream, static_cast<const T*>(values),
                  count, workspace);
  });
  return error != cudaSuccess
             ? error
             : Launch(AddBlockSumsKernel, 1, kBlocks, stream, workspace, beta, sum);
}

}  // namespace trainctl::ops::fused
