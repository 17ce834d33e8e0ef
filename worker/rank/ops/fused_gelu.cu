// GELU by the error function. For bf16 that is Abramowitz and Stegun's 7.1.26, within 1.5e-7: its
// exponential is the normal density's too. Products are written so that the compiler has no choice
// between roundings: x's gradient has the same bits whether or not the output is wanted.
#include "worker/rank/ops/fused_launch.cuh"
#include "worker/rank/ops/fused_pack.cuh"

namespace trainctl::ops::fused {
namespace {

constexpr int kThreads = 256;

// Of the standard normal distribution at x.
struct Normal {
  float below, density;
};

template <class T>
__device__ inline Normal NormalAt(float x) {
  constexpr float kSqrtHalf = 0.70710678f, kDensityAtZero = 0.39894228f;
  if constexpr (sizeof(T) == sizeof(float)) {
    return {__fmul_rn(0.5f, erfcf(-x * kSqrtHalf)), kDensityAtZero * expf(-0.5f * x * x)};
  } else {
    const float t = __fdividef(1.0f, 1.0f + 0.3275911f * kSqrtHalf * fabsf(x));
    const float e = __expf(-0.5f * x * x);
    const float series =
        t * (0.254829592f +
             t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
    const float tail = 0.5f * series * e;
    return {x < 0 ? tail : 1.0f - tail, kDensityAtZero * e};
  }
}

template <class T, int W>
__global__ void __launch_bounds__(kThreads) ForwardKernel(const T* x, T* out, int64_t packs) {
  AwaitPrevious();
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < packs;
       i += stride) {
    auto values = Load<W>(x + i * W);
#pragma unroll
    for (int k = 0; k < W; ++k) {
      const float value = ToFloat(values.value[k]);
      values.value[k] = FromFloat<T>(value * NormalAt<T>(value).below);
    }
    Store(out + i * W, values);
  }
}

template <class T, int W>
__global__ void __launch_bounds__(kThreads)
    BackwardKernel(T* grad, T* x, int64_t packs, bool output_wanted) {
  AwaitPrevious();
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < packs;
       i += stride) {
    auto grads = Load<W>(grad + i * W);
    auto values = Load<W>(x + i * W);
#pragma unroll
    for (int k = 0; k < W; ++k) {
      const float value = ToFloat(values.value[k]);
      const Normal normal = NormalAt<T>(value);
      values.value[k] =
          FromFloat<T>(ToFloat(grads.value[k]) * fmaf(value, normal.density, normal.below));
      grads.value[k] = FromFloat<T>(value * normal.below);
    }
    Store(x + i * W, values);
    if (output_wanted) {
      Store(grad + i * W, grads);
    }
  }
}

bool IsWide(int64_t count, const void* a, const void* b) {
  return count % kWide == 0 && IsAligned(a) && IsAligned(b);
}

}  // namespace

cudaError_t GeluForward(Type element, int64_t count, const void* x, void* out,
                        cudaStream_t stream) {
  if (count < 0) {
    return cudaErrorInvalidValue;
  }
  if (count == 0) {
    return cudaSuccess;
  }
  const bool wide = IsWide(count, x, out);
  const int64_t packs = wide ? count / kWide : count;
  return ForType(element, [&](auto tag) {
    using T = decltype(tag);
    return Launch(wide ? ForwardKernel<T, kWide> : ForwardKernel<T, 1>,
                  StridedGrid(packs, kThreads), kThreads, stream, static_cast<const T*>(x),
                  static_cast<T*>(out), packs);
  });
}

cudaError_t GeluBackward(Type element, int64_t count, void* grad, void* x, bool output_wanted,
                         cudaStream_t stream) {
  if (count < 0) {
    return cudaErrorInvalidValue;
  }
  if (count == 0) {
    return cudaSuccess;
  }
  const bool wide = IsWide(count, grad, x);
  const int64_t packs = wide ? count / kWide : count;
  return ForType(element, [&](auto tag) {
    using T = decltype(tag);
    return Launch(wide ? BackwardKernel<T, kWide> : BackwardKernel<T, 1>,
                  StridedGrid(packs, kThreads), kThreads, stream, static_cast<T*>(grad),
                  static_cast<T*>(x), packs, output_wanted);
  });
}

}  // namespace trainctl::ops::fused
