// Dropout by counted random numbers: a thread a group of 8 neighbours, which share one draw; the
// mask is never stored.
#include "worker/rank/ops/fused_launch.cuh"
#include "worker/rank/ops/fused_pack.cuh"
#include "worker/rank/ops/philox.h"

namespace trainctl::ops::fused {
namespace {

constexpr int kThreads = 256;

template <class T>
__device__ float Masked(T x, const base::PhiloxWords& words, int lane, uint32_t threshold,
                        float scale) {
  return DropoutKeeps(words, lane, threshold) ? ToFloat(x) * scale : 0.0f;
}

// A block a row; columns are a multiple of 8.
template <class T, bool kAdd>
__global__ void __launch_bounds__(kThreads)
    WideKernel(Dropout dropout, const T* x, const T* sum, T* out) {
  AwaitPrevious();
  const int64_t row = dropout.first_row + blockIdx.x;
  const uint64_t sample = static_cast<uint64_t>(dropout.samples[row / dropout.length]);
  const uint64_t first_group =
      static_cast<uint64_t>(row % dropout.length) * (dropout.columns / kWide);
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * dropout.columns;
  for (int group = threadIdx.x; group < dropout.columns / kWide; group += blockDim.x) {
    const int64_t place = begin + static_cast<int64_t>(group) * kWide;
    const auto values = Load<kWide>(x + place);
    const base::PhiloxWords words =
        DropoutWords(dropout.seed, sample, dropout.module, first_group + group);
    Pack<T, kWide> result;
    if (kAdd) {
      result = Load<kWide>(sum + place);
    }
#pragma unroll
    for (int k = 0; k < kWide; ++k) {
      const float kept = Masked(values.value[k], words, k, dropout.threshold, dropout.scale);
      result.value[k] = FromFloat<T>(kAdd ? ToFloat(result.value[k]) + kept : kept);
    }
    Store(out + place, result);
  }
}

// Any columns: an element a thread.
template <class T, bool kAdd>
__global__ void __launch_bounds__(kThreads)
    NarrowKernel(Dropout dropout, const T* x, const T* sum, T* out) {
  AwaitPrevious();
  const int64_t row = dropout.first_row + blockIdx.x;
  const uint64_t sample = static_cast<uint64_t>(dropout.samples[row / dropout.length]);
  const uint64_t first = static_cast<uint64_t>(row % dropout.length) * dropout.columns;
  for (int64_t column = threadIdx.x; column < dropout.columns; column += blockDim.x) {
    const uint64_t element = first + column;
    const int64_t place = static_cast<int64_t>(blockIdx.x) * dropout.columns + column;
    const base::PhiloxWords words =
        DropoutWords(dropout.seed, sample, dropout.module, element / kDropoutGroup);
    const float kept = Masked(x[place], words, static_cast<int>(element % kDropoutGroup),
                              dropout.threshold, dropout.scale);
    out[place] = FromFloat<T>(kAdd ? ToFloat(sum[place]) + kept : kept);
  }
}

template <bool kAdd>
cudaError_t Run(const Dropout& d, const void* sum, void* out, cudaStream_t stream) {
  static_assert(kDropoutGroup == kWide);
  if (d.rows < 0 || d.rows > INT32_MAX || d.columns <= 0 || d.columns > INT32_MAX ||
      d.length <= 0 || d.first_row < 0) {
    return cudaErrorInvalidValue;
  }
  if (d.rows == 0) {
    return cudaSuccess;
  }
  const bool is_wide = d.columns % kWide == 0 && IsAligned(d.x) && IsAligned(sum) && IsAligned(out);
  return ForType(d.element, [&](auto tag) {
    using T = decltype(tag);
    const auto kernel = is_wide ? WideKernel<T, kAdd> : NarrowKernel<T, kAdd>;
    const unsigned threads = Threads(is_wide ? d.columns / kWide : d.columns, kThreads);
    return Launch(kernel, Grid(d.rows), threads, stream, d, static_cast<const T*>(d.x),
                  static_cast<const T*>(sum), static_cast<T*>(out));
  });
}

}  // namespace

cudaError_t DropoutForward(const Dropout& dropout, void* out, cudaStream_t stream) {
  return Run<false>(dropout, nullptr, out, stream);
}

cudaError_t DropoutAdd(const Dropout& dropout, const void* sum, void* out, cudaStream_t stream) {
  return Run<true>(dropout, sum, out, stream);
}

}  // namespace trainctl::ops::fused
