// RMSNorm and LayerNorm. Forward: a block a row. Backward: a fixed number of blocks that stride
// over the rows. Each thread owns the same columns in every row. So the sums over rows of the
// vectors' gradients stay in registers; a second kernel adds the blocks' partial sums in order.
// kCenters: LayerNorm.
#include "worker/rank/ops/fused_launch.cuh"
#include "worker/rank/ops/fused_pack.cuh"
#include "worker/rank/ops/fused_partial_sums.cuh"
#include "worker/rank/ops/fused_reduce.cuh"

namespace trainctl::ops::fused {
namespace {

// Blocks of the backward: on each of an H200's processors as many as their registers allow at once.
// So none waits for another to end. They fill the memory system, and leave few partial sums.
constexpr int64_t kProcessors = 132, kThreadsOfProcessor = 1024;

// Of a thread's columns of a row.
template <class T, int W>
__device__ float Sum(const T* row, int hidden) {
  float sum = 0;
  for (int column = threadIdx.x * W; column < hidden; column += static_cast<int>(blockDim.x) * W) {
    const auto values = Load<W>(row + column);
    for (int k = 0; k < W; ++k) {
      sum += ToFloat(values.value[k]);
    }
  }
  return sum;
}

template <class T, int W, bool kCenters>
__global__ void __launch_bounds__(kMaxThreads)
    ForwardKernel(const T* x, const T* weight, const T* bias, T* out, float* rstd, float* means,
                  int hidden, float eps) {
  const T* row = x + static_cast<int64_t>(blockIdx.x) * hidden;
  T* out_row = out + static_cast<int64_t>(blockIdx.x) * hidden;
  const int stride = static_cast<int>(blockDim.x) * W;
  float mean = 0;
  if constexpr (kCenters) {
    mean = BlockSum(Sum<T, W>(row, hidden), 1) / hidden;
  }
  float squares = 0;
  for (int column = threadIdx.x * W; column < hidden; column += stride) {
    const auto values = Load<W>(row + column);
    for (int k = 0; k < W; ++k) {
      const float value = ToFloat(values.value[k]) - mean;
      squares += value * value;
    }
  }
  const float scale = 1.0f / sqrtf(BlockSum(squares, 0) / hidden + eps);
  if (threadIdx.x == 0) {
    rstd[blockIdx.x] = scale;
    if constexpr (kCenters) {
      means[blockIdx.x] = mean;
    }
  }
  for (int column = threadIdx.x * W; column < hidden; column += stride) {
    const auto values = Load<W>(row + column);
    const auto weights = Load<W>(weight + column);
    Pack<T, W> result;
    if constexpr (kCenters) {
      const auto biases = Load<W>(bias + column);
      for (int k = 0; k < W; ++k) {
        const float unit = (ToFloat(values.value[k]) - mean) * scale;
        result.value[k] = FromFloat<T>(unit * ToFloat(weights.value[k]) + ToFloat(biases.value[k]));
      }
    } else {
      for (int k = 0; k < W; ++k) {
        result.value[k] =
            FromFloat<T>(ToFloat(values.value[k]) * scale * ToFloat(weights.value[k]));
      }
    }
    Store(out_row + column, result);
  }
}

// A thread's part of what the backward reads of a row.
template <class T, int W, int P>
struct RowPart {
  Pack<T, W> grads[P], inputs[P], residuals[P];

  __device__ void Read(const T* grad, const T* x, const T* residual_grad, int64_t row, int hidden) {
#pragma unroll
    for (int p = 0; p < P; ++p) {
      const int column = (threadIdx.x + p * blockDim.x) * W;
      if (column < hidden) {
        grads[p] = Load<W>(grad + row * hidden + column);
        inputs[p] = Load<W>(x + row * hidden + column);
        if (residual_grad != nullptr) {
          residuals[p] = Load<W>(residual_grad + row * hidden + column);
        }
      }
    }
  }
};

// Each thread owns P packs of W columns. Null pointers: see NormGrad. partial_sums: of the weight's
// gradient by block, then of the bias's. Where registers allow, a block's next row is on its way
// while the sums over this one are made.
template <class T, int W, int P, bool kCenters>
__global__ void __launch_bounds__(kMaxThreads)
    BackwardKernel(const T* grad, const T* x, const T* weight, const T* bias, const float* rstd,
                   const float* means, const T* residual_grad, T* input_grad, T* normalized,
                   float* partial_sums, int64_t rows, int hidden) {
  Pack<T, W> weights[P];
  [[maybe_unused]] Pack<T, W> biases[kCenters ? P : 1];
  Pack<float, W> weight_sums[P] = {};
  [[maybe_unused]] Pack<float, W> bias_sums[kCenters ? P : 1] = {};
#pragma unroll
  for (int p = 0; p < P; ++p) {
    const int column = (threadIdx.x + p * blockDim.x) * W;
    if (column < hidden) {
      weights[p] = Load<W>(weight + column);
      if constexpr (kCenters) {
        biases[p] = Load<W>(bias + column);
      }
    }
  }
  constexpr bool kReadsAhead = sizeof(T) * W * P <= 16;
  RowPart<T, W, P> next;
  if (kReadsAhead && blockIdx.x < rows) {
    next.Read(grad, x, residual_grad, blockIdx.x, hidden);
  }
  int slot = 0;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float scale = rstd[row];
    float center = 0;
    if constexpr (kCenters) {
      center = means[row];
    }
    RowPart<T, W, P> part;
    if constexpr (kReadsAhead) {
      part = next;
      if (row + gridDim.x < rows) {
        next.Read(grad, x, residual_grad, row + gridDim.x, hidden);
      }
    } else {
      part.Read(grad, x, residual_grad, row, hidden);
    }
    const auto& [grads, inputs, residuals] = part;
    float dot = 0;
    [[maybe_unused]] float sum = 0;
#pragma unroll
    for (int p = 0; p < P; ++p) {
      const int column = (threadIdx.x + p * blockDim.x) * W;
      if (column < hidden) {
        for (int k = 0; k < W; ++k) {
          const float unit = (ToFloat(inputs[p].value[k]) - center) * scale;
          weight_sums[p].value[k] += ToFloat(grads[p].value[k]) * unit;
          dot += ToFloat(grads[p].value[k]) * ToFloat(weights[p].value[k]) * unit;
          if constexpr (kCenters) {
            bias_sums[p].value[k] += ToFloat(grads[p].value[k]);
            sum += ToFloat(grads[p].value[k]) * ToFloat(weights[p].value[k]);
          }
        }
      }
    }
    float mean = 0, mean_grad = 0;
    if constexpr (kCenters) {
      const Pair sums = BlockSum(Pair{dot, sum}, slot);
      mean = sums.first / hidden;
      mean_grad = sums.second / hidden;
    } else {
      mean = BlockSum(dot, slot) / hidden;
    }
    slot ^= 1;
#pragma unroll
    for (int p = 0; p < P; ++p) {
      const int column = (threadIdx.x + p * blockDim.x) * W;
      if (column < hidden) {
        Pack<T, W> result, again;
        for (int k = 0; k < W; ++k) {
          const float unit = (ToFloat(inputs[p].value[k]) - center) * scale;
          const float factor = ToFloat(weights[p].value[k]);
          const float residual = residual_grad != nullptr ? ToFloat(residuals[p].value[k]) : 0.0f;
          const float own = ToFloat(grads[p].value[k]) * factor - unit * mean;
          result.value[k] = FromFloat<T>(residual + scale * (kCenters ? own - mean_grad : own));
          if constexpr (kCenters) {
            again.value[k] = FromFloat<T>(unit * factor + ToFloat(biases[p].value[k]));
          } else {
            again.value[k] = FromFloat<T>(unit * factor);
          }
        }
        Store(input_grad + row * hidden + column, result);
        if (normalized != nullptr) {
          Store(normalized + row * hidden + column, again);
        }
      }
    }
  }
  if (partial_sums == nullptr) {
    return;
  }
#pragma unroll
  for (int p = 0; p < P; ++p) {
    const int column = (threadIdx.x + p * blockDim.x) * W;
    if (column < hidden) {
      float* const own = partial_sums + static_cast<int64_t>(blockIdx.x) * hidden + column;
      Store(own, weight_sums[p]);
      if constexpr (kCenters) {
        Store(own + static_cast<int64_t>(gridDim.x) * hidden, bias_sums[p]);
      }
    }
  }
}

int64_t BackwardBlocks(int64_t rows, int64_t hidden) {
  const int64_t threads = Threads(CeilDiv(hidden, kWide), kMaxThreads);
  return std::min<int64_t>(kProcessors * (kThreadsOfProcessor / threads), rows);
}

// W elements a piece; P pieces a thread, as few as kMaxThreads allow.
template <class T, int W, int P>
cudaError_t LaunchBackward(const NormGrad& n, float* partial_sums, cudaStream_t stream) {
  const auto kernel =
      n.bias != nullptr ? BackwardKernel<T, W, P, true> : BackwardKernel<T, W, P, false>;
  return Launch(kernel, Grid(BackwardBlocks(n.rows, n.hidden)),
                Threads(CeilDiv(n.hidden, W * P), kMaxThreads), stream,
                static_cast<const T*>(n.grad), static_cast<const T*>(n.x),
                static_cast<const T*>(n.weight), static_cast<const T*>(n.bias), n.rstd, n.mean,
                static_cast<const T*>(n.residual_grad), static_cast<T*>(n.input_grad),
                static_cast<T*>(n.normalized), partial_sums, n.rows, n.hidden);
}

template <class T>
cudaError_t LaunchBackward(const NormGrad& n, float* partial_sums, cudaStream_t stream) {
  const bool wide = n.hidden % kWide == 0 && IsAligned(n.grad) && IsAligned(n.x) &&
                    IsAligned(n.weight) && IsAligned(n.bias) && IsAligned(n.residual_grad) &&
                    IsAligned(n.input_grad) && IsAligned(n.normalized);
  if (wide) {
    return n.hidden <= kMaxThreads * kWide ? LaunchBackward<T, kWide, 1>(n, partial_sums, stream)
                                           : LaunchBackward<T, kWide, 2>(n, partial_sums, stream);
  }
  return n.hidden <= kMaxThreads       ? LaunchBackward<T, 1, 1>(n, partial_sums, stream)
         : n.hidden <= 4 * kMaxThreads ? LaunchBackward<T, 1, 4>(n, partial_sums, stream)
                                       : LaunchBackward<T, 1, 16>(n, partial_sums, stream);
}

cudaError_t AddSums(const NormGrad& n, cudaStream_t stream) {
  return AddPartialSums({.partial_sums = n.workspace,
                         .blocks = BackwardBlocks(n.rows, n.hidden),
                         .columns = n.hidden,
                         .grad_type = n.grad_type},
                        {n.weight_grad, n.weight_grad_beta}, {n.bias_grad, n.bias_grad_beta},
                        stream);
}

bool IsSupported(int64_t rows, int64_t hidden) {
  return rows >= 0 && rows <= INT32_MAX && hidden > 0 && hidden <= kMaxHidden;
}

bool IsSupported(const NormGrad& n) {
  const bool wants_both = (n.bias_grad != nullptr) == (n.bias != nullptr);
  return IsSupported(n.rows, n.hidden) && (n.bias == nullptr || n.mean != nullptr) &&
         (n.weight_grad == nullptr ? n.bias_grad == nullptr : wants_both) &&
         (n.weight_grad == nullptr || n.workspace != nullptr || n.rows == 0);
}

template <class T>
cudaError_t LaunchForward(const Norm& n, cudaStream_t stream) {
  const bool wide = n.hidden % kWide == 0 && IsAligned(n.x) && IsAligned(n.weight) &&
                    IsAligned(n.bias) && IsAligned(n.out);
  const auto kernel = n.bias != nullptr
                          ? (wide ? ForwardKernel<T, kWide, true> : ForwardKernel<T, 1, true>)
                          : (wide ? ForwardKernel<T, kWide, false> : ForwardKernel<T, 1, false>);
  return Launch(kernel, Grid(n.rows), Threads(CeilDiv(n.hidden, wide ? kWide : 1), 512), stream,
                static_cast<const T*>(n.x), static_cast<const T*>(n.weight),
                static_cast<const T*>(n.bias), static_cast<T*>(n.out), n.rstd, n.mean, n.hidden,
                n.eps);
}

}  // namespace

cudaError_t NormForward(const Norm& n, cudaStream_t stream) {
  if (!IsSupported(n.rows, n.hidden) || (n.bias != nullptr && n.mean == nullptr && n.rows > 0)) {
    return cudaErrorInvalidValue;
  }
  if (n.rows == 0) {
    return cudaSuccess;
  }
  return ForType(n.element, [&](auto tag) { return LaunchForward<decltype(tag)>(n, stream); });
}

cudaError_t NormBackward(const NormGrad& n, cudaStream_t stream) {
  if (!IsSupported(n)) {
    return cudaErrorInvalidValue;
  }
  float* partial_sums = n.weight_grad != nullptr ? n.workspace : nullptr;
  const auto launch = [&](auto tag) {
    return LaunchBackward<decltype(tag)>(n, partial_sums, stream);
  };
  const cudaError_t error = n.rows > 0 ? ForType(n.element, launch) : cudaSuccess;
  return error != cudaSuccess || n.weight_grad == nullptr ? error : AddSums(n, stream);
}

size_t NormWorkspaceFloats(int64_t rows, int64_t hidden, bool has_bias) {
  return static_cast<size_t>(BackwardBlocks(rows, hidden) * hidden * (has_bias ? 2 : 1));
}

}  // namespace trainctl::ops::fused
