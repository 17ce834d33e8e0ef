// A row that is added to every row: a block a row.
#include "worker/rank/ops/fused_launch.cuh"
#include "worker/rank/ops/fused_pack.cuh"

namespace trainctl::ops::fused {
namespace {

constexpr int kThreads = 256;

template <class T, int W>
__global__ void __launch_bounds__(kThreads)
    AddKernel(const T* x, const T* row, T* out, int64_t columns) {
  AwaitPrevious();
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * columns;
  for (int64_t column = threadIdx.x * W; column < columns;
       column += static_cast<int64_t>(blockDim.x) * W) {
    auto values = Load<W>(x + begin + column);
    const auto added = Load<W>(row + column);
#pragma unroll
    for (int k = 0; k < W; ++k) {
      values.value[k] = FromFloat<T>(ToFloat(values.value[k]) + ToFloat(added.value[k]));
    }
    Store(out + begin + column, values);
  }
}

}  // namespace

cudaError_t AddRow(const RowSum& s, void* out, cudaStream_t stream) {
  if (s.rows < 0 || s.rows > INT32_MAX || s.columns <= 0) {
    return cudaErrorInvalidValue;
  }
  if (s.rows == 0) {
    return cudaSuccess;
  }
  const bool wide = s.columns % kWide == 0 && IsAligned(s.x) && IsAligned(s.row) && IsAligned(out);
  return ForType(s.element, [&](auto tag) {
    using T = decltype(tag);
    const auto kernel = wide ? AddKernel<T, kWide> : AddKernel<T, 1>;
    return Launch(kernel, Grid(s.rows), Threads(CeilDiv(s.columns, wide ? kWide : 1), kThreads),
                  stream, static_cast<const T*>(s.x), static_cast<const T*>(s.row),
                  static_cast<T*>(out), s.columns);
  });
}

}  // namespace trainctl::ops::fused
