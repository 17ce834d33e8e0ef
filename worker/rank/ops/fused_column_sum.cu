// The sum of each column.
#include <iterator>

#include "worker/rank/ops/fused_column_totals.cuh"

namespace trainctl::ops::fused {
namespace {

constexpr int kRowsAtOnce = 8;  // loads of a thread that are under way

template <class T, class G, int W>
__global__ void __launch_bounds__(kStripeThreads, kStripesBlocks)
    SumKernel(const T* x, int64_t rows, int64_t columns, int64_t row_stride, Stripes stripes,
              ColumnGradsOf grads) {
  AwaitPrevious();
  __shared__ SharedSums<W> shared;
  const StripePlace place(stripes, W);
  float sums[W] = {};
  if (place.column < columns) {
    for (int64_t first = place.row; first < rows; first += kRowsAtOnce * place.step) {
      // A row beyond the last is the last once more and is not added: so no load waits for a test.
      Pack<T, W> packs[kRowsAtOnce];
#pragma unroll
      for (int i = 0; i < kRowsAtOnce; ++i) {
        const int64_t row = min(first + i * place.step, rows - 1);
        packs[i] = Load<W>(x + row * row_stride + place.column);
      }
#pragma unroll
      for (int i = 0; i < kRowsAtOnce; ++i) {
        if (first + i * place.step < rows) {
#pragma unroll
          for (int k = 0; k < W; ++k) {
            sums[k] += ToFloat(packs[i].value[k]);
          }
        }
      }
    }
  }
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * stripes.lanes * W;
  ForTotals(stripes, sums, shared, [&](int i, float total) {
    grads.Add<G>(begin + i, total);  // none has columns beyond the last
  });
}

int64_t ColumnsOf(const ColumnSum& s) {
  int64_t columns = 0;
  for (const ColumnGrad& grad : s.grads) {
    columns += grad.columns;
  }
  return columns;
}

template <class T, class G, int W>
cudaError_t LaunchSum(const ColumnSum& s, cudaStream_t stream) {
  const int64_t columns = ColumnsOf(s);
  const Stripes stripes = StripesOf(columns, W);
  ColumnGradsOf grads;
  std::copy(std::begin(s.grads), std::end(s.grads), grads.part);
  return LaunchStripes(SumKernel<T, G, W>, stripes, stream, static_cast<const T*>(s.x), s.rows,
                       columns, s.row_stride, stripes, grads);
}

bool IsSupported(const ColumnSum& s) {
  for (const ColumnGrad& grad : s.grads) {
    if (grad.columns < 0 || (grad.columns > 0 && grad.grad == nullptr)) {
      return false;
    }
  }
  const int64_t columns = ColumnsOf(s);
  return s.rows >= 0 && columns > 0 && columns <= INT32_MAX && s.row_stride >= columns &&
         (s.rows == 0 || s.x != nullptr);
}

}  // namespace

cudaError_t AddColumnSums(const ColumnSum& s, cudaStream_t stream) {
  if (!IsSupported(s)) {
    return cudaErrorInvalidValue;
  }
  const bool wide = ColumnsOf(s) % kWide == 0 && s.row_stride % kWide == 0 && IsAligned(s.x);
  return ForType(s.element, [&](auto element) {
    return ForType(s.grad_type, [&](auto grad) {
      using T = decltype(element);
      using G = decltype(grad);
      return wide ? LaunchSum<T, G, kWide>(s, stream) : LaunchSum<T, G, 1>(s, stream);
    });
  });
}

}  // namespace trainctl::ops::fused
