// Cross-entropy over the vocabulary: a block a row. One pass finds maximum and normalizer together
// (Milakov and Gimelshein 2018). A second one, which finds the row in the cache, writes the
// gradient in its place.
//
// Rows of an odd vocabulary start anywhere. So each row is a few single elements, aligned pieces,
// and a few single elements.
#include <cfloat>

#include "worker/rank/ops/fused_launch.cuh"
#include "worker/rank/ops/fused_pack.cuh"
#include "worker/rank/ops/fused_reduce.cuh"

namespace trainctl::ops::fused {
namespace {

constexpr int kThreads = 512;

// visit(first column, pack) for every column of the row, each on one thread; the pack is of kWide
// elements or of one.
template <class T, class Visit>
__device__ void ForRow(T* row, int vocab, const Visit& visit) {
  const int misaligned = static_cast<int>(reinterpret_cast<uintptr_t>(row) % 16 / sizeof(T));
  const int piece = static_cast<int>(16 / sizeof(T));
  const int head = min(vocab, (piece - misaligned) % piece);
  const int tail = head + (vocab - head) / kWide * kWide;
  if (static_cast<int>(threadIdx.x) < head) {
    visit(static_cast<int>(threadIdx.x), Load<1>(row + threadIdx.x));
  }
  for (int column = head + static_cast<int>(threadIdx.x) * kWide; column < tail;
       column += kThreads * kWide) {
    visit(column, Load<kWide>(row + column));
  }
  if (tail + static_cast<int>(threadIdx.x) < vocab) {
    visit(tail + static_cast<int>(threadIdx.x), Load<1>(row + tail + threadIdx.x));
  }
}

// Σ exp(x − maximum) of what was seen so far.
struct Normalizer {
  float maximum;
  float sum;
};

template <class T>
__device__ Normalizer Merge(const Normalizer& a, const Normalizer& b) {
  Normalizer both;
  both.maximum = fmaxf(a.maximum, b.maximum);
  both.sum = a.sum * Exp<T>(a.maximum - both.maximum) + b.sum * Exp<T>(b.maximum - both.maximum);
  return both;
}

template <class T, int W>
__device__ void Add(Normalizer& normalizer, const Pack<T, W>& pack) {
  float maximum = normalizer.maximum;
  for (int k = 0; k < W; ++k) {
    maximum = fmaxf(maximum, ToFloat(pack.value[k]));
  }
  float sum = normalizer.sum * Exp<T>(normalizer.maximum - maximum);
  for (int k = 0; k < W; ++k) {
    sum += Exp<T>(ToFloat(pack.value[k]) - maximum);
  }
  normalizer = {maximum, sum};
}

// Over the block, on every thread, merged in a fixed order.
template <class T>
__device__ Normalizer BlockMerge(Normalizer own) {
  __shared__ Normalizer warps[kThreads / kWarp];
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    Normalizer other;
    other.maximum = __shfl_xor_sync(0xffffffffu, own.maximum, offset);
    other.sum = __shfl_xor_sync(0xffffffffu, own.sum, offset);
    own = Merge<T>(own, other);
  }
  if (threadIdx.x % kWarp == 0) {
    warps[threadIdx.x / kWarp] = own;
  }
  __syncthreads();
  Normalizer all = warps[0];
  for (int warp = 1; warp < kThreads / kWarp; ++warp) {
    all = Merge<T>(all, warps[warp]);
  }
  return all;
}

template <class T>
__device__ Normalizer NormalizerOf(const T* row, int vocab) {
  Normalizer normalizer{-FLT_MAX, 0};
  ForRow(row, vocab, [&](int, const auto& pack) { Add(normalizer, pack); });
  return BlockMerge<T>(normalizer);
}

// NaN for a target that the row does not have.
template <class T>
__device__ float LossOf(const T* row, int vocab, int64_t target, const Normalizer& normalizer) {
  return target < vocab ? logf(normalizer.sum) + normalizer.maximum - ToFloat(row[target])
                        : nanf("");
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    ForwardKernel(const T* logits, const int64_t* targets, float* losses, int vocab) {
  AwaitPrevious();
  const T* row = logits + static_cast<int64_t>(blockIdx.x) * vocab;
  const int64_t target = targets[blockIdx.x];
  if (target < 0) {
    if (threadIdx.x == 0) {
      losses[blockIdx.x] = 0;
    }
    return;
  }
  const Normalizer normalizer = NormalizerOf(row, vocab);
  if (threadIdx.x == 0) {
    losses[blockIdx.x] = LossOf(row, vocab, target, normalizer);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    ForwardBackwardKernel(T* logits, const int64_t* targets, float* losses, int vocab,
                          float host_scale, const float* device_scale) {
  AwaitPrevious();
  T* row = logits + static_cast<int64_t>(blockIdx.x) * vocab;
  const int64_t target = targets[blockIdx.x];
  if (target < 0) {
    ForRow(row, vocab, [&](int column, auto pack) {
      constexpr int kWidth = sizeof(pack) / sizeof(T);
      for (int k = 0; k < kWidth; ++k) {
        pack.value[k] = FromFloat<T>(0);
      }
      Store(row + column, pack);
    });
    if (threadIdx.x == 0) {
      losses[blockIdx.x] = 0;
    }
    return;
  }
  const Normalizer normalizer = NormalizerOf(row, vocab);
  if (threadIdx.x == 0) {
    losses[blockIdx.x] = LossOf(row, vocab, target, normalizer);
  }
  __syncthreads();  // the target's logit is read before it is written over
  const float scale = device_scale != nullptr ? host_scale * *device_scale : host_scale;
  const float over_sum = 1.0f / normalizer.sum;
  ForRow(row, vocab, [&](int column, auto pack) {
    constexpr int kWidth = sizeof(pack) / sizeof(T);
    for (int k = 0; k < kWidth; ++k) {
      const float probability = Exp<T>(ToFloat(pack.value[k]) - normalizer.maximum) * over_sum;
      pack.value[k] =
          FromFloat<T>((column + k == target ? probability - 1.0f : probability) * scale);
    }
    Store(row + column, pack);
  });
}

bool IsSupported(const CrossEntropy& loss) {
  return loss.rows >= 0 && loss.rows <= INT32_MAX && loss.vocab > 0 && loss.vocab <= INT32_MAX / 2;
}

}  // namespace

cudaError_t CrossEntropyForward(const CrossEntropy& loss, cudaStream_t stream) {
  if (!IsSupported(loss)) {
    return cudaErrorInvalidValue;
  }
  if (loss.rows == 0) {
    return cudaSuccess;
  }
  return ForType(loss.element, [&](auto tag) {
    using T = decltype(tag);
    return Launch(ForwardKernel<T>, Grid(loss.rows), kThreads, stream,
                  static_cast<const T*>(loss.logits), loss.targets, loss.losses, loss.vocab);
  });
}

cudaError_t CrossEntropyForwardBackward(const CrossEntropy& loss, float host_scale,
                                        const float* device_scale, cudaStream_t stream) {
  if (!IsSupported(loss)) {
    return cudaErrorInvalidValue;
  }
  if (loss.rows == 0) {
    return cudaSuccess;
  }
  return ForType(loss.element, [&](auto tag) {
    using T = decltype(tag);
    return Launch(ForwardBackwardKernel<T>, Grid(loss.rows), kThreads, stream,
                  static_cast<T*>(loss.logits), loss.targets, loss.losses, loss.vocab, host_scale,
                  device_scale);
  });
}

}  // namespace trainctl::ops::fused
