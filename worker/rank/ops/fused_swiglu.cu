// SwiGLU, element by element: a block a row. The backward recomputes what the forward gave, so that
// nobody has to keep it.
#include "worker/rank/ops/fused_launch.cuh"
#include "worker/rank/ops/fused_pack.cuh"

namespace trainctl::ops::fused {
namespace {

constexpr int kThreads = 256;

template <class T>
__device__ float Sigmoid(float x) {
  return 1.0f / (1.0f + Exp<T>(-x));
}

template <class T, int W>
__global__ void __launch_bounds__(kThreads) ForwardKernel(const T* gate_up, T* out, int ffn) {
  AwaitPrevious();
  const T* gate_row = gate_up + static_cast<int64_t>(blockIdx.x) * 2 * ffn;
  const T* up_row = gate_row + ffn;
  T* out_row = out + static_cast<int64_t>(blockIdx.x) * ffn;
  for (int column = threadIdx.x * W; column < ffn; column += kThreads * W) {
    const auto gates = Load<W>(gate_row + column);
    const auto ups = Load<W>(up_row + column);
    Pack<T, W> result;
    for (int k = 0; k < W; ++k) {
      const float gate = ToFloat(gates.value[k]);
      result.value[k] = FromFloat<T>(gate * Sigmoid<T>(gate) * ToFloat(ups.value[k]));
    }
    Store(out_row + column, result);
  }
}

template <class T, int W>
__global__ void __launch_bounds__(kThreads)
    BackwardKernel(T* grad, T* gate_up, int ffn, bool output_wanted) {
  AwaitPrevious();
  T* gate_row = gate_up + static_cast<int64_t>(blockIdx.x) * 2 * ffn;
  T* up_row = gate_row + ffn;
  T* grad_row = grad + static_cast<int64_t>(blockIdx.x) * ffn;
  for (int column = threadIdx.x * W; column < ffn; column += kThreads * W) {
    auto gates = Load<W>(gate_row + column);
    auto ups = Load<W>(up_row + column);
    auto grads = Load<W>(grad_row + column);
    for (int k = 0; k < W; ++k) {
      const float gate = ToFloat(gates.value[k]), up = ToFloat(ups.value[k]),
                  out_grad = ToFloat(grads.value[k]);
      const float sigmoid = Sigmoid<T>(gate);
      const float silu = gate * sigmoid;
      grads.value[k] = FromFloat<T>(silu * up);
      gates.value[k] = FromFloat<T>(out_grad * up * (sigmoid + silu * (1.0f - sigmoid)));
      ups.value[k] = FromFloat<T>(out_grad * silu);
    }
    Store(gate_row + column, gates);
    Store(up_row + column, ups);
    if (output_wanted) {
      Store(grad_row + column, grads);
    }
  }
}

bool IsSupported(int64_t rows, int64_t ffn) {
  return rows >= 0 && rows <= INT32_MAX && ffn > 0 && ffn <= INT32_MAX / 4;
}

bool IsWide(int64_t ffn, const void* gate_up, const void* out) {
  return ffn % kWide == 0 && IsAligned(gate_up) && IsAligned(out);
}

}  // namespace

cudaError_t SwiGluForward(Type element, int64_t rows, int64_t ffn, const void* gate_up, void* out,
                          cudaStream_t stream) {
  if (!IsSupported(rows, ffn)) {
    return cudaErrorInvalidValue;
  }
  if (rows == 0) {
    return cudaSuccess;
  }
  return ForType(element, [&](auto tag) {
    using T = decltype(tag);
    const auto kernel = IsWide(ffn, gate_up, out) ? ForwardKernel<T, kWide> : ForwardKernel<T, 1>;
    return Launch(kernel, Grid(rows), kThreads, stream, static_cast<const T*>(gate_up),
                  static_cast<T*>(out), ffn);
  });
}

cudaError_t SwiGluBackward(Type element, int64_t rows, int64_t ffn, void* grad, void* gate_up,
                           bool output_wanted, cudaStream_t stream) {
  if (!IsSupported(rows, ffn)) {
    return cudaErrorInvalidValue;
  }
  if (rows == 0) {
    return cudaSuccess;
  }
  return ForType(element, [&](auto tag) {
    using T = decltype(tag);
    const auto kernel =
        IsWide(ffn, gate_up, grad) ? BackwardKernel<T, kWide> : BackwardKernel<T, 1>;
    return Launch(kernel, Grid(rows), kThreads, stream, static_cast<T*>(grad),
                  static_cast<T*>(gate_up), ffn, output_wanted);
  });
}

}  // namespace trainctl::ops::fused
