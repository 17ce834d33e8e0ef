// Sums over a block of threads, in an order that depends on the number of threads alone.
#pragma once

namespace trainctl::ops::fused {

inline constexpr int kWarp = 32;
inline constexpr int kMaxThreads = 1024;

template <class Number>
__device__ inline Number WarpSum(Number value) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  return value;
}

// Two numbers that are summed together.
struct Pair {
  float first = 0, second = 0;
};

__device__ inline Pair& operator+=(Pair& sum, const Pair& value) {
  sum.first += value.first;
  sum.second += value.second;
  return sum;
}

__device__ inline Pair WarpSum(Pair value) { return {WarpSum(value.first), WarpSum(value.second)}; }

// The sum on every thread of a one-dimensional block of whole warps. One barrier. slot alternates
// between 0 and 1 from call to call. So nobody overwrites what a slower thread of the call before
// still reads.
template <class Number>
__device__ inline Number BlockSum(Number value, int slot) {
  __shared__ Number warp_sums[2][kMaxThreads / kWarp];
  value = WarpSum(value);
  if (threadIdx.x % kWarp == 0) {
    warp_sums[slot][threadIdx.x / kWarp] = value;
  }
  __syncthreads();
  Number sum = {};
  for (int warp = 0; warp < static_cast<int>(blockDim.x) / kWarp; ++warp) {
    sum += warp_sums[slot][warp];
  }
  return sum;
}

}  // namespace trainctl::ops::fused
