// RMSNorm. Forward: a block a row. Backward: a fixed number of blocks that stride over the rows.
// Each thread owns the same columns in every row. So the weight gradient's sums over rows stay in
// registers; a second kernel adds the blocks' partial sums in order.
#include "worker/rank/ops/fused_launch.cuh"
#include "worker/rank/ops/fused_pack.cuh"
#include "worker/rank/ops/fused_reduce.cuh"

namespace trainctl::ops::fused {
namespace {

// Threads of the backward in all: enough to fill the memory system of an H200 (132 processors of
// 1024), few enough for few partial sums.
constexpr int64_t kBackwardThreads = 132 * 1024;

template <class T, int W>
__global__ void __launch_bounds__(kMaxThreads)
    ForwardKernel(const T* x, const T* weight, T* out, float* rstd, int hidden, float eps) {
  const T* row = x + static_cast<int64_t>(blockIdx.x) * hidden;
  T* out_row = out + static_cast<int64_t>(blockIdx.x) * hidden;
  const int stride = static_cast<int>(blockDim.x) * W;
  float squares = 0;
  for (int column = threadIdx.x * W; column < hidden; column += stride) {
    const auto values = Load<W>(row + column);
    for (int k = 0; k < W; ++k) {
      const float value = ToFloat(values.value[k]);
      squares += value * value;
    }
  }
  const float scale = 1.0f / sqrtf(BlockSum(squares, 0) / hidden + eps);
  if (threadIdx.x == 0) {
    rstd[blockIdx.x] = scale;
  }
  for (int column = threadIdx.x * W; column < hidden; column += stride) {
    const auto values = Load<W>(row + column);
    const auto weights = Load<W>(weight + column);
    Pack<T, W> result;
    for (int k = 0; k < W; ++k) {
      result.value[k] = FromFloat<T>(ToFloat(values.value[k]) * scale * ToFloat(weights.value[k]));
    }
    Store(out_row + column, result);
  }
}

// Each thread owns P packs of W columns. Null pointers: see RmsNormGrad.
template <class T, int W, int P>
__global__ void __launch_bounds__(kMaxThreads)
    BackwardKernel(const T* grad, const T* x, const T* weight, const float* rstd,
                   const T* residual_grad, T* input_grad, T* normalized, float* partial_sums,
                   int64_t rows, int hidden) {
  Pack<T, W> weights[P];
  float weight_sums[P][W] = {};
#pragma unroll
  for (int p = 0; p < P; ++p) {
    const int column = (threadIdx.x + p * blockDim.x) * W;
    if (column < hidden) {
      weights[p] = Load<W>(weight + column);
    }
  }
  int slot = 0;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float scale = rstd[row];
    Pack<T, W> grads[P], inputs[P], residuals[P];
    float dot = 0;
#pragma unroll
    for (int p = 0; p < P; ++p) {
      const int column = (threadIdx.x + p * blockDim.x) * W;
      if (column < hidden) {
        grads[p] = Load<W>(grad + row * hidden + column);
        inputs[p] = Load<W>(x + row * hidden + column);
        if (residual_grad != nullptr) {
          residuals[p] = Load<W>(residual_grad + row * hidden + column);
        }
        for (int k = 0; k < W; ++k) {
          const float unit = ToFloat(inputs[p].value[k]) * scale;
          weight_sums[p][k] += ToFloat(grads[p].value[k]) * unit;
          dot += ToFloat(grads[p].value[k]) * ToFloat(weights[p].value[k]) * unit;
        }
      }
    }
    const float mean = BlockSum(dot, slot) / hidden;
    slot ^= 1;
#pragma unroll
    for (int p = 0; p < P; ++p) {
      const int column = (threadIdx.x + p * blockDim.x) * W;
      if (column < hidden) {
        Pack<T, W> result, again;
        for (int k = 0; k < W; ++k) {
          const float unit = ToFloat(inputs[p].value[k]) * scale;
          const float factor = ToFloat(weights[p].value[k]);
          const float residual = residual_grad != nullptr ? ToFloat(residuals[p].value[k]) : 0.0f;
          result.value[k] =
              FromFloat<T>(residual + scale * (ToFloat(grads[p].value[k]) * factor - unit * mean));
          again.value[k] = FromFloat<T>(unit * factor);
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
    for (int k = 0; k < W && column < hidden; ++k) {
      partial_sums[static_cast<int64_t>(blockIdx.x) * hidden + column + k] = weight_sums[p][k];
    }
  }
}

constexpr int kLanes = 8;  // threads that share a column of the partial sums

// weight_grad = beta · weight_grad + the sum of the blocks' partial sums; blocks of 32 columns ×
// kLanes.
template <class G>
__global__ void AddPartialSumsKernel(const float* partial_sums, G* weight_grad, int blocks,
                                     int hidden, float beta) {
  __shared__ float lane_sums[kLanes][kWarp];
  const int column = blockIdx.x * kWarp + threadIdx.x;
  float sum = 0;
  for (int block = threadIdx.y; block < blocks && column < hidden; block += kLanes) {
    sum += partial_sums[static_cast<int64_t>(block) * hidden + column];
  }
  lane_sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y == 0 && column < hidden) {
    float total = beta == 0 ? 0.0f : beta * ToFloat(weight_grad[column]);
    for (int lane = 0; lane < kLanes; ++lane) {
      total += lane_sums[lane][threadIdx.x];
    }
    weight_grad[column] = FromFloat<G>(total);
  }
}

int64_t BackwardBlocks(int64_t rows, int64_t hidden) {
  return std::min<int64_t>(kBackwardThreads / Threads(CeilDiv(hidden, kWide), kMaxThreads), rows);
}

// W elements a piece; P pieces a thread, as few as kMaxThreads allow.
template <class T, int W, int P>
cudaError_t LaunchBackward(const RmsNormGrad& n, float* partial_sums, cudaStream_t stream) {
  return Launch(BackwardKernel<T, W, P>, Grid(BackwardBlocks(n.rows, n.hidden)),
                Threads(CeilDiv(n.hidden, W * P), kMaxThreads), stream,
                static_cast<const T*>(n.grad), static_cast<const T*>(n.x),
                static_cast<const T*>(n.weight), n.rstd, static_cast<const T*>(n.residual_grad),
                static_cast<T*>(n.input_grad), static_cast<T*>(n.normalized), partial_sums, n.rows,
                n.hidden);
}

template <class T>
cudaError_t LaunchBackward(const RmsNormGrad& n, float* partial_sums, cudaStream_t stream) {
  const bool wide = n.hidden % kWide == 0 && IsAligned(n.grad) && IsAligned(n.x) &&
                    IsAligned(n.weight) && IsAligned(n.residual_grad) && IsAligned(n.input_grad) &&
                    IsAligned(n.normalized);
  if (wide) {
    return n.hidden <= kMaxThreads * kWide ? LaunchBackward<T, kWide, 1>(n, partial_sums, stream)
                                           : LaunchBackward<T, kWide, 2>(n, partial_sums, stream);
  }
  return n.hidden <= kMaxThreads       ? LaunchBackward<T, 1, 1>(n, partial_sums, stream)
         : n.hidden <= 4 * kMaxThreads ? LaunchBackward<T, 1, 4>(n, partial_sums, stream)
                                       : LaunchBackward<T, 1, 16>(n, partial_sums, stream);
}

cudaError_t AddPartialSums(const RmsNormGrad& n, cudaStream_t stream) {
  return ForType(n.weight_grad_type, [&](auto tag) {
    using G = decltype(tag);
    return Launch(AddPartialSumsKernel<G>, Grid(CeilDiv(n.hidden, kWarp)), dim3(kWarp, kLanes),
                  stream, n.workspace, static_cast<G*>(n.weight_grad),
                  BackwardBlocks(n.rows, n.hidden), n.hidden, n.weight_grad_beta);
  });
}

bool IsSupported(int64_t rows, int64_t hidden) {
  return rows >= 0 && rows <= INT32_MAX && hidden > 0 && hidden <= kMaxHidden;
}

}  // namespace

cudaError_t RmsNormForward(const RmsNorm& n, cudaStream_t stream) {
  if (!IsSupported(n.rows, n.hidden)) {
    return cudaErrorInvalidValue;
  }
  if (n.rows == 0) {
    return cudaSuccess;
  }
  return ForType(n.element, [&](auto tag) {
    using T = decltype(tag);
    const bool wide =
        n.hidden % kWide == 0 && IsAligned(n.x) && IsAligned(n.weight) && IsAligned(n.out);
    const auto kernel = wide ? ForwardKernel<T, kWide> : ForwardKernel<T, 1>;
    return Launch(kernel, Grid(n.rows), Threads(CeilDiv(n.hidden, wide ? kWide : 1), 512), stream,
                  static_cast<const T*>(n.x), static_cast<const T*>(n.weight),
                  static_cast<T*>(n.out), n.rstd, n.hidden, n.eps);
  });
}

cudaError_t RmsNormBackward(const RmsNormGrad& n, cudaStream_t stream) {
  if (!IsSupported(n.rows, n.hidden) ||
      (n.weight_grad != nullptr && n.workspace == nullptr && n.rows > 0)) {
    return cudaErrorInvalidValue;
  }
  float* partial_sums = n.weight_grad != nullptr ? n.workspace : nullptr;
  const auto launch = [&](auto tag) {
    return LaunchBackward<decltype(tag)>(n, partial_sums, stream);
  };
  const cudaError_t error = n.rows > 0 ? ForType(n.element, launch) : cudaSuccess;
  return error != cudaSuccess || n.weight_grad == nullptr ? error : AddPartialSums(n, stream);
}

size_t RmsNormWorkspaceFloats(int64_t rows, int64_t hidden) {
  return static_cast<size_t>(BackwardBlocks(rows, hidden) * hidden);
}

}  // namespace trainctl::ops::fused
