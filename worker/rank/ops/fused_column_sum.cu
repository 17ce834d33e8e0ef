// The sum of each column: a block takes a stripe of columns and a run of rows. Its warps take every
// eighth row, a second kernel adds the blocks' sums in order.
#include "worker/rank/ops/fused_launch.cuh"
#include "worker/rank/ops/fused_pack.cuh"
#include "worker/rank/ops/fused_partial_sums.cuh"
#include "worker/rank/ops/fused_reduce.cuh"

namespace trainctl::ops::fused {
namespace {

constexpr int kWarps = 8;
constexpr int64_t kBlocks = 132 * 4;

constexpr int64_t StripeColumns(int width) { return kWarp * width; }

template <class T, int W>
__global__ void __launch_bounds__(kWarp* kWarps)
    SumKernel(const T* x, float* partial_sums, int64_t rows, int columns, int64_t row_stride,
              int64_t rows_of_block) {
  __shared__ float warp_sums[kWarps][kWarp * W + 1];
  const int column = (blockIdx.x * kWarp + threadIdx.x) * W;
  const int64_t first = blockIdx.y * rows_of_block;
  const int64_t end = min(first + rows_of_block, rows);
  float sums[W] = {};
  if (column < columns) {
#pragma unroll 4
    for (int64_t row = first + threadIdx.y; row < end; row += kWarps) {
      const auto values = Load<W>(x + row * row_stride + column);
      for (int k = 0; k < W; ++k) {
        sums[k] += ToFloat(values.value[k]);
      }
    }
  }
  for (int k = 0; k < W; ++k) {
    warp_sums[threadIdx.y][threadIdx.x * W + k] = sums[k];
  }
  __syncthreads();
  const int thread = threadIdx.y * kWarp + threadIdx.x;
  const int own_column = blockIdx.x * kWarp * W + thread;
  if (thread >= kWarp * W || own_column >= columns) {
    return;
  }
  float total = 0;
  for (int warp = 0; warp < kWarps; ++warp) {
    total += warp_sums[warp][thread];
  }
  partial_sums[static_cast<int64_t>(blockIdx.y) * columns + own_column] = total;
}

// Depends on the shape alone, as the order of the sums does.
int64_t RunsOfRows(int64_t rows, int64_t columns) {
  const int64_t stripes = CeilDiv(columns, StripeColumns(kWide));
  return std::clamp<int64_t>(kBlocks / stripes, 1, CeilDiv(rows, kWarps));
}

template <class T, int W>
cudaError_t LaunchSum(const ColumnSum& s, int64_t runs, cudaStream_t stream) {
  const dim3 grid(Grid(CeilDiv(s.columns, StripeColumns(W))), Grid(runs));
  return Launch(SumKernel<T, W>, grid, dim3(kWarp, kWarps), stream, static_cast<const T*>(s.x),
                s.workspace, s.rows, s.columns, s.row_stride, CeilDiv(s.rows, runs));
}

bool IsSupported(const ColumnSum& s) {
  return s.rows >= 0 && s.columns > 0 && s.columns <= INT32_MAX && s.row_stride >= s.columns &&
         s.grad != nullptr && (s.rows == 0 || (s.x != nullptr && s.workspace != nullptr));
}

}  // namespace

cudaError_t AddColumnSums(const ColumnSum& s, cudaStream_t stream) {
  if (!IsSupported(s)) {
    return cudaErrorInvalidValue;
  }
  const int64_t runs = s.rows == 0 ? 0 : RunsOfRows(s.rows, s.columns);
  const bool wide = s.columns % kWide == 0 && s.row_stride % kWide == 0 && IsAligned(s.x);
  const auto launch = [&](auto tag) {
    using T = decltype(tag);
    return wide ? LaunchSum<T, kWide>(s, runs, stream) : LaunchSum<T, 1>(s, runs, stream);
  };
  const cudaError_t error = s.rows > 0 ? ForType(s.element, launch) : cudaSuccess;
  if (error != cudaSuccess) {
    return error;
  }
  return AddPartialSums(
      {.partial_sums = s.workspace, .blocks = runs, .columns = s.columns, .grad_type = s.grad_type},
      {s.grad, s.beta}, {}, stream);
}

size_t ColumnSumWorkspaceFloats(int64_t rows, int64_t columns) {
  return rows == 0 ? 0 : static_cast<size_t>(RunsOfRows(rows, columns) * columns);
}

}  // namespace trainctl::ops::fused
