// The embedding's gradient. Tokens are sorted by id, equal ids in the order of their rows. Then
// comes one sum for each run of equal ids.
//
// The sort counts for each token how many come before it: N² comparisons. For the 8,192 tokens of a
// large micro batch they take some 25 µs. They need no temporary storage, no second pass, no
// library. A frequent token (padding, a template's words) has a run as long as the batch. So kLanes
// threads share each column of a run: lane l adds its every kLanes-th row, and the lanes' sums are
// added in order.
#include "worker/rank/ops/fused_launch.cuh"
#include "worker/rank/ops/fused_pack.cuh"

namespace trainctl::ops::fused {
namespace {

constexpr int kPieces = 32;  // of columns, a block
constexpr int kLanes = 8;

// sorted_ids, sorted_rows: ids and their rows in ascending order. Each block places kPieces tokens;
// lane l of a token's threads compares it with every kLanes-th of all.
__global__ void __launch_bounds__(kPieces* kLanes)
    RankSortKernel(const int64_t* ids, int rows, int64_t* sorted_ids, int* sorted_rows) {
  AwaitPrevious();
  __shared__ int lane_counts[kLanes][kPieces];
  const int row = blockIdx.x * kPieces + threadIdx.x;
  const int64_t id = row < rows ? ids[row] : 0;
  int before = 0;
#pragma unroll 8
  for (int other = threadIdx.y; other < rows; other += kLanes) {
    const int64_t other_id = ids[other];
    before += other_id < id || (other_id == id && other < row) ? 1 : 0;
  }
  lane_counts[threadIdx.y][threadIdx.x] = before;
  __syncthreads();
  if (threadIdx.y != 0 || row >= rows) {
    return;
  }
  int place = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    place += lane_counts[lane][threadIdx.x];
  }
  sorted_ids[place] = id;
  sorted_rows[place] = row;
}

// Block (i, j): the run that starts at the i-th sorted token, if one does, and the j-th group of
// columns.
template <class T, class G, int W>
__global__ void __launch_bounds__(kPieces* kLanes)
    SumRunsKernel(const T* grad, const int64_t* sorted_ids, const int* sorted_rows, G* weight_grad,
                  int rows, int hidden, int64_t vocab, bool accumulate) {
  AwaitPrevious();
  __shared__ float lane_sums[kLanes][kPieces * W];
  const int start = blockIdx.x;
  const int64_t id = sorted_ids[start];
  if ((start > 0 && sorted_ids[start - 1] == id) || id < 0 || id >= vocab) {
    return;
  }
  const int column = (blockIdx.y * kPieces + threadIdx.x) * W;
  float sums[W] = {};
  if (column < hidden) {
#pragma unroll 4
    for (int i = start + threadIdx.y; i < rows && sorted_ids[i] == id; i += kLanes) {
      const auto values = Load<W>(grad + static_cast<int64_t>(sorted_rows[i]) * hidden + column);
      for (int k = 0; k < W; ++k) {
        sums[k] += ToFloat(values.value[k]);
      }
    }
  }
  for (int k = 0; k < W; ++k) {
    lane_sums[threadIdx.y][threadIdx.x * W + k] = sums[k];
  }
  __syncthreads();
  if (threadIdx.y != 0 || column >= hidden) {
    return;
  }
  G* out = weight_grad + id * hidden + column;
  Pack<G, W> result;
  if (accumulate) {
    result = Load<W>(out);
  }
  for (int k = 0; k < W; ++k) {
    float total = accumulate ? ToFloat(result.value[k]) : 0.0f;
    for (int lane = 0; lane < kLanes; ++lane) {
      total += lane_sums[lane][threadIdx.x * W + k];
    }
    result.value[k] = FromFloat<G>(total);
  }
  Store(out, result);
}

template <class T, class G>
cudaError_t SumRuns(const EmbeddingGrad& e, const int64_t* sorted_ids, const int* sorted_rows,
                    cudaStream_t stream) {
  const bool wide = e.hidden % kWide == 0 && IsAligned(e.grad) && IsAligned(e.weight_grad);
  const auto kernel = wide ? SumRunsKernel<T, G, kWide> : SumRunsKernel<T, G, 1>;
  const int64_t groups = CeilDiv(e.hidden, kPieces * (wide ? kWide : 1));
  return Launch(kernel, dim3(Grid(e.rows), Grid(groups)), dim3(kPieces, kLanes), stream,
                static_cast<const T*>(e.grad), sorted_ids, sorted_rows,
                static_cast<G*>(e.weight_grad), e.rows, e.hidden, e.vocab, e.beta == 1);
}

bool IsSupported(const EmbeddingGrad& e) {
  return e.rows >= 0 && e.rows <= INT32_MAX && e.hidden > 0 && e.hidden <= kMaxHidden &&
         (e.beta == 0 || e.beta == 1);
}

}  // namespace

cudaError_t EmbeddingBackward(const EmbeddingGrad& e, cudaStream_t stream) {
  if (!IsSupported(e) || (e.rows > 0 && e.workspace == nullptr)) {
    return cudaErrorInvalidValue;
  }
  cudaError_t error = cudaSuccess;
  if (e.beta == 0) {
    const size_t element_bytes = e.weight_grad_type == Type::kBf16 ? 2 : 4;
    error = cudaMemsetAsync(e.weight_grad, 0,
                            static_cast<size_t>(e.vocab * e.hidden) * element_bytes, stream);
  }
  if (error != cudaSuccess || e.rows == 0) {
    return error;
  }
  auto* sorted_ids = static_cast<int64_t*>(e.workspace);
  auto* sorted_rows = reinterpret_cast<int*>(sorted_ids + e.rows);
  error = Launch(RankSortKernel, Grid(CeilDiv(e.rows, kPieces)), dim3(kPieces, kLanes), stream,
                 e.ids, e.rows, sorted_ids, sorted_rows);
  if (error != cudaSuccess) {
    return error;
  }
  return ForType(e.element, [&](auto element) {
    return ForType(e.weight_grad_type, [&](auto grad) {
      return SumRuns<decltype(element), decltype(grad)>(e, sorted_ids, sorted_rows, stream);
    });
  });
}

size_t EmbeddingWorkspaceBytes(int64_t rows) {
  return static_cast<size_t>(rows) * (sizeof(int64_t) + sizeof(int));
}

}  // namespace trainctl::ops::fused
