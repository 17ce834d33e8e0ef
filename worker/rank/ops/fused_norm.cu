// RMSNorm and LayerNorm. A row is a warp's, or a block's where it is wide. It is read once and kept
// in registers. The gradients of the vectors are sums over rows, by a kernel of their own that
// comes first: its rows are in the second-level cache when the other reads them. kCenters:
// LayerNorm.
#include "worker/rank/ops/fused_column_totals.cuh"

namespace trainctl::ops::fused {
namespace {

// Threads of a block: that has a row, that has rows of one warp each, and where pieces are small.
constexpr int kRowThreads = 512, kWarpsThreads = 128;

constexpr int ThreadsOf(int width, bool is_warp) {
  return is_warp ? kWarpsThreads : width == 1 ? kMaxThreads : kRowThreads;
}

// The threads that share a row, and their way to sum over it.
template <bool kIsWarp>
struct RowPlace {
  int64_t row;
  int first, threads;

  __device__ RowPlace()
      : row(kIsWarp ? blockIdx.x * static_cast<int64_t>(kWarpsThreads / kWarp) + threadIdx.x / kWarp
                    : blockIdx.x),
        first(static_cast<int>(kIsWarp ? threadIdx.x % kWarp : threadIdx.x)),
        threads(static_cast<int>(kIsWarp ? kWarp : blockDim.x)) {}

  template <class Number>
  __device__ Number Sum(Number value, int slot) const {
    if constexpr (kIsWarp) {
      return WarpSum(value);
    } else {
      return BlockSum(value, slot);
    }
  }
};

// A thread's part of a row: P packs of W columns.
template <class T, int W, int P>
struct RowPart {
  Pack<T, W> packs[P];

  __device__ void Read(const T* row, int first, int threads, int hidden) {
#pragma unroll
    for (int p = 0; p < P; ++p) {
      const int column = (first + p * threads) * W;
      if (column < hidden) {
        packs[p] = Load<W>(row + column);
      }
    }
  }
};

// body(p, column) for the thread's packs.
template <int W, int P, class Body>
__device__ inline void ForPacks(int first, int threads, int hidden, const Body& body) {
#pragma unroll
  for (int p = 0; p < P; ++p) {
    const int column = (first + p * threads) * W;
    if (column < hidden) {
      body(p, column);
    }
  }
}

template <class T, int W, int P, bool kIsWarp, bool kCenters>
__global__ void __launch_bounds__(ThreadsOf(W, kIsWarp))
    ForwardKernel(const T* x, const T* weight, const T* bias, T* out, float* rstd, float* means,
                  int64_t rows, int hidden, float eps) {
  AwaitPrevious();
  const RowPlace<kIsWarp> place;
  if (place.row >= rows) {
    return;
  }
  const int first = place.first, threads = place.threads;
  RowPart<T, W, P> part;
  part.Read(x + place.row * hidden, first, threads, hidden);
  float mean = 0;
  if constexpr (kCenters) {
    float sum = 0;
    ForPacks<W, P>(first, threads, hidden, [&](int p, int) {
#pragma unroll
      for (int k = 0; k < W; ++k) {
        sum += ToFloat(part.packs[p].value[k]);
      }
    });
    mean = place.Sum(sum, 1) / hidden;
  }
  float squares = 0;
  ForPacks<W, P>(first, threads, hidden, [&](int p, int) {
#pragma unroll
    for (int k = 0; k < W; ++k) {
      const float value = ToFloat(part.packs[p].value[k]) - mean;
      squares += value * value;
    }
  });
  const float scale = 1.0f / sqrtf(place.Sum(squares, 0) / hidden + eps);
  if (first == 0) {
    rstd[place.row] = scale;
    if constexpr (kCenters) {
      means[place.row] = mean;
    }
  }
  T* const out_row = out + place.row * hidden;
  ForPacks<W, P>(first, threads, hidden, [&](int p, int column) {
    const auto weights = Load<W>(weight + column);
    Pack<T, W> result;
    if constexpr (kCenters) {
      const auto biases = Load<W>(bias + column);
#pragma unroll
      for (int k = 0; k < W; ++k) {
        const float unit = (ToFloat(part.packs[p].value[k]) - mean) * scale;
        result.value[k] = FromFloat<T>(unit * ToFloat(weights.value[k]) + ToFloat(biases.value[k]));
      }
    } else {
#pragma unroll
      for (int k = 0; k < W; ++k) {
        result.value[k] =
            FromFloat<T>(ToFloat(part.packs[p].value[k]) * scale * ToFloat(weights.value[k]));
      }
    }
    Store(out_row + column, result);
  });
}

// What the backward's kernels read. Null pointers: see NormGrad.
template <class T>
struct BackwardInput {
  const T *grad, *x, *weight, *bias, *residual_grad;
  const float *rstd, *means;
  int64_t rows;
  int hidden;
};

template <class T, int W, int P, bool kIsWarp, bool kCenters>
__global__ void __launch_bounds__(ThreadsOf(W, kIsWarp))
    BackwardKernel(BackwardInput<T> in, T* input_grad, T* normalized) {
  AwaitPrevious();
  const RowPlace<kIsWarp> place;
  if (place.row >= in.rows) {
    return;
  }
  const int first = place.first, threads = place.threads, hidden = in.hidden;
  const int64_t begin = place.row * hidden;
  RowPart<T, W, P> grads, inputs, residuals;
  grads.Read(in.grad + begin, first, threads, hidden);
  inputs.Read(in.x + begin, first, threads, hidden);
  if (in.residual_grad != nullptr) {
    residuals.Read(in.residual_grad + begin, first, threads, hidden);
  }
  const float scale = in.rstd[place.row];
  float center = 0;
  if constexpr (kCenters) {
    center = in.means[place.row];
  }
  Pair sums;  // of weighted gradients times units, and of weighted gradients
  ForPacks<W, P>(first, threads, hidden, [&](int p, int column) {
    const auto weights = Load<W>(in.weight + column);
#pragma unroll
    for (int k = 0; k < W; ++k) {
      const float own = ToFloat(grads.packs[p].value[k]) * ToFloat(weights.value[k]);
      sums.first += own * ((ToFloat(inputs.packs[p].value[k]) - center) * scale);
      sums.second += own;
    }
  });
  float mean = 0, mean_grad = 0;
  if constexpr (kCenters) {
    sums = place.Sum(sums, 0);
    mean = sums.first / hidden;
    mean_grad = sums.second / hidden;
  } else {
    mean = place.Sum(sums.first, 0) / hidden;
  }
  ForPacks<W, P>(first, threads, hidden, [&](int p, int column) {
    const auto weights = Load<W>(in.weight + column);
    Pack<T, W> biases;
    if constexpr (kCenters) {
      biases = Load<W>(in.bias + column);
    }
    Pack<T, W> result, again;
#pragma unroll
    for (int k = 0; k < W; ++k) {
      const float unit = (ToFloat(inputs.packs[p].value[k]) - center) * scale;
      const float factor = ToFloat(weights.value[k]);
      const float residual =
          in.residual_grad != nullptr ? ToFloat(residuals.packs[p].value[k]) : 0.0f;
      const float own = ToFloat(grads.packs[p].value[k]) * factor - unit * mean;
      result.value[k] = FromFloat<T>(residual + scale * (kCenters ? own - mean_grad : own));
      if constexpr (kCenters) {
        again.value[k] = FromFloat<T>(unit * factor + ToFloat(biases.value[k]));
      } else {
        again.value[k] = FromFloat<T>(unit * factor);
      }
    }
    Store(input_grad + begin + column, result);
    if (normalized != nullptr) {
      Store(normalized + begin + column, again);
    }
  });
}

struct VectorGrads {
  void *weight, *bias;
  float weight_beta, bias_beta;
};

constexpr int kRowsAtOnce = 4;  // of which a thread loads two packs each

template <class T, class G, int W, bool kCenters>
__global__ void __launch_bounds__(kStripeThreads, kStripesBlocks)
    VectorsKernel(BackwardInput<T> in, Stripes stripes, VectorGrads vectors) {
  AwaitPrevious();
  constexpr int kSums = kCenters ? 2 * W : W;  // of the weight, then of the bias
  __shared__ SharedSums<kSums> shared;
  const StripePlace place(stripes, W);
  float sums[kSums] = {};
  if (place.column < in.hidden) {
    for (int64_t first = place.row; first < in.rows; first += kRowsAtOnce * place.step) {
      // A row beyond the last is the last once more and is not added: so no load waits for a test.
      Pack<T, W> grads[kRowsAtOnce], inputs[kRowsAtOnce];
      float scales[kRowsAtOnce], centers[kRowsAtOnce];
#pragma unroll
      for (int i = 0; i < kRowsAtOnce; ++i) {
        const int64_t row = min(first + i * place.step, in.rows - 1);
        grads[i] = Load<W>(in.grad + row * in.hidden + place.column);
        inputs[i] = Load<W>(in.x + row * in.hidden + place.column);
        scales[i] = in.rstd[row];
        centers[i] = kCenters ? in.means[row] : 0.0f;
      }
#pragma unroll
      for (int i = 0; i < kRowsAtOnce; ++i) {
        if (first + i * place.step >= in.rows) {
          break;
        }
#pragma unroll
        for (int k = 0; k < W; ++k) {
          const float grad = ToFloat(grads[i].value[k]);
          sums[k] += grad * ((ToFloat(inputs[i].value[k]) - centers[i]) * scales[i]);
          if constexpr (kCenters) {
            sums[W + k] += grad;
          }
        }
      }
    }
  }
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * stripes.lanes * W;
  ForTotals(stripes, sums, shared, [&](int i, float total) {
    const int64_t column = begin + i / kSums * W + i % W;
    if (column >= in.hidden) {
      return;
    }
    if (i % kSums < W) {
      AddTotal(static_cast<G*>(vectors.weight) + column, vectors.weight_beta, total);
    } else {
      AddTotal(static_cast<G*>(vectors.bias) + column, vectors.bias_beta, total);
    }
  });
}

// Calls body with the constants P and kIsWarp for a row of so many packs. kMost: how many packs of
// bf16 a thread has registers for; fp32 has half of them.
template <class T, int W, int kMost, class Body>
cudaError_t ForRowShape(int64_t packs, const Body& body) {
  constexpr int kMostPacks = kMost * 2 / static_cast<int>(sizeof(T));
  const auto warp = [&](auto p) { return body(p, std::true_type()); };
  const auto block = [&](auto p) { return body(p, std::false_type()); };
  if constexpr (W == 1) {
    return packs <= 4 * kMaxThreads ? block(std::integral_constant<int, 4>())
                                    : block(std::integral_constant<int, 16>());
  } else {
    if (packs <= 2 * kWarp) {
      return warp(std::integral_constant<int, 2>());
    }
    if constexpr (kMostPacks >= 4) {
      if (packs <= 4 * kWarp) {
        return warp(std::integral_constant<int, 4>());
      }
    }
    if constexpr (kMostPacks >= 6) {
      if (packs <= 6 * kWarp) {
        return warp(std::integral_constant<int, 6>());
      }
    }
    if constexpr (kMostPacks >= 10) {
      if (packs <= 10 * kWarp) {
        return warp(std::integral_constant<int, 10>());
      }
    }
    return packs <= 2 * kRowThreads ? block(std::integral_constant<int, 2>())
                                    : block(std::integral_constant<int, 4>());
  }
}

template <int P, bool kIsWarp>
dim3 BlocksOf(int64_t rows) {
  return Grid(kIsWarp ? CeilDiv(rows, kWarpsThreads / kWarp) : rows);
}

template <int W, int P, bool kIsWarp>
unsigned ThreadsOfBlock(int64_t packs) {
  return kIsWarp ? kWarpsThreads : Threads(CeilDiv(packs, P), ThreadsOf(W, false));
}

template <class T, int W>
cudaError_t LaunchForward(const Norm& n, cudaStream_t stream) {
  const int64_t packs = CeilDiv(n.hidden, W);
  return ForRowShape<T, W, 10>(packs, [&](auto p, auto is_warp) {
    constexpr int kP = decltype(p)::value;
    constexpr bool kIsWarp = decltype(is_warp)::value;
    const auto kernel = n.bias != nullptr ? ForwardKernel<T, W, kP, kIsWarp, true>
                                          : ForwardKernel<T, W, kP, kIsWarp, false>;
    return Launch(kernel, BlocksOf<kP, kIsWarp>(n.rows), ThreadsOfBlock<W, kP, kIsWarp>(packs),
                  stream, static_cast<const T*>(n.x), static_cast<const T*>(n.weight),
                  static_cast<const T*>(n.bias), static_cast<T*>(n.out), n.rstd, n.mean, n.rows,
                  n.hidden, n.eps);
  });
}

template <class T, class G, int W>
cudaError_t LaunchVectors(const NormGrad& n, const BackwardInput<T>& in, cudaStream_t stream) {
  const auto kernel =
      n.bias != nullptr ? VectorsKernel<T, G, W, true> : VectorsKernel<T, G, W, false>;
  const Stripes stripes = StripesOf(n.hidden, W);
  return LaunchStripes(
      kernel, stripes, stream, in, stripes,
      VectorGrads{n.weight_grad, n.bias_grad, n.weight_grad_beta, n.bias_grad_beta});
}

template <class T, int W>
cudaError_t LaunchBackward(const NormGrad& n, cudaStream_t stream) {
  const BackwardInput<T> in{static_cast<const T*>(n.grad),
                            static_cast<const T*>(n.x),
                            static_cast<const T*>(n.weight),
                            static_cast<const T*>(n.bias),
                            static_cast<const T*>(n.residual_grad),
                            n.rstd,
                            n.mean,
                            n.rows,
                            static_cast<int>(n.hidden)};
  if (n.weight_grad != nullptr) {
    const cudaError_t error = ForType(
        n.grad_type, [&](auto tag) { return LaunchVectors<T, decltype(tag), W>(n, in, stream); });
    if (error != cudaSuccess) {
      return error;
    }
  }
  if (n.rows == 0) {
    return cudaSuccess;
  }
  const int64_t packs = CeilDiv(n.hidden, W);
  return ForRowShape<T, W, 6>(packs, [&](auto p, auto is_warp) {
    constexpr int kP = decltype(p)::value;
    constexpr bool kIsWarp = decltype(is_warp)::value;
    const auto kernel = n.bias != nullptr ? BackwardKernel<T, W, kP, kIsWarp, true>
                                          : BackwardKernel<T, W, kP, kIsWarp, false>;
    return Launch(kernel, BlocksOf<kP, kIsWarp>(n.rows), ThreadsOfBlock<W, kP, kIsWarp>(packs),
                  stream, in, static_cast<T*>(n.input_grad), static_cast<T*>(n.normalized));
  });
}

bool IsSupported(int64_t rows, int64_t hidden) {
  return rows >= 0 && rows <= INT32_MAX && hidden > 0 && hidden <= kMaxHidden;
}

bool IsSupported(const NormGrad& n) {
  const bool wants_both = (n.bias_grad != nullptr) == (n.bias != nullptr);
  return IsSupported(n.rows, n.hidden) && (n.bias == nullptr || n.mean != nullptr) &&
         (n.weight_grad == nullptr ? n.bias_grad == nullptr : wants_both);
}

bool IsWide(const Norm& n) {
  return n.hidden % kWide == 0 && IsAligned(n.x) && IsAligned(n.weight) && IsAligned(n.bias) &&
         IsAligned(n.out);
}

bool IsWide(const NormGrad& n) {
  return n.hidden % kWide == 0 && IsAligned(n.grad) && IsAligned(n.x) && IsAligned(n.weight) &&
         IsAligned(n.bias) && IsAligned(n.residual_grad) && IsAligned(n.input_grad) &&
         IsAligned(n.normalized);
}

}  // namespace

cudaError_t NormForward(const Norm& n, cudaStream_t stream) {
  if (!IsSupported(n.rows, n.hidden) || (n.bias != nullptr && n.mean == nullptr && n.rows > 0)) {
    return cudaErrorInvalidValue;
  }
  if (n.rows == 0) {
    return cudaSuccess;
  }
  return ForType(n.element, [&](auto tag) {
    using T = decltype(tag);
    return IsWide(n) ? LaunchForward<T, kWide>(n, stream) : LaunchForward<T, 1>(n, stream);
  });
}

cudaError_t NormBackward(const NormGrad& n, cudaStream_t stream) {
  if (!IsSupported(n)) {
    return cudaErrorInvalidValue;
  }
  return ForType(n.element, [&](auto tag) {
    using T = decltype(tag);
    return IsWide(n) ? LaunchBackward<T, kWide>(n, stream) : LaunchBackward<T, 1>(n, stream);
  });
}

}  // namespace trainctl::ops::fused
