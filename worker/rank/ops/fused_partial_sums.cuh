// The second half of a sum over rows. The blocks of a first kernel have left a row of partial sums
// each. Their total goes to the gradients of one vector or two, added in a fixed order.
#pragma once

#include "worker/rank/ops/fused_launch.cuh"
#include "worker/rank/ops/fused_pack.cuh"
#include "worker/rank/ops/fused_reduce.cuh"

namespace trainctl::ops::fused {

// [blocks, columns] of the first vector, then of the second.
struct PartialSums {
  const float* partial_sums = nullptr;
  int64_t blocks = 0;
  int64_t columns = 0;
  Type grad_type = Type::kBf16;
};

// grad = beta · grad + sums. grad null: there is no such vector.
struct VectorGrad {
  void* grad = nullptr;
  float beta = 0;
};

// Of the partial sums, a block takes so many columns, each with so many threads: a narrow row has
// thousands of partial sums.
inline constexpr int kSumColumns = 8, kSumLanes = 128;

// Blocks of kSumColumns × kSumLanes; y is 0 for the first vector, 1 for the second.
template <class G>
__global__ void AddPartialSumsKernel(const float* partial_sums, VectorGrad first, VectorGrad second,
                                     int blocks, int columns) {
  __shared__ float lane_sums[kSumLanes][kSumColumns + 1];
  const int column = blockIdx.x * kSumColumns + threadIdx.x;
  const float* sums = partial_sums + static_cast<int64_t>(blockIdx.y) * blocks * columns + column;
  float sum = 0;
#pragma unroll 4
  for (int block = threadIdx.y; block < blocks && column < columns; block += kSumLanes) {
    sum += sums[static_cast<int64_t>(block) * columns];
  }
  lane_sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  // From here a warp has a column.
  const int thread = threadIdx.y * kSumColumns + threadIdx.x;
  const int own = thread / kWarp, lane = thread % kWarp;
  const int own_column = blockIdx.x * kSumColumns + own;
  if (own >= kSumColumns || own_column >= columns) {
    return;
  }
  float total = 0;
  for (int i = lane; i < kSumLanes; i += kWarp) {
    total += lane_sums[i][own];
  }
  total = WarpSum(total);
  if (lane == 0) {
    const VectorGrad target = blockIdx.y == 0 ? first : second;
    G* const grad = static_cast<G*>(target.grad) + own_column;
    const float before = target.beta == 0 ? 0.0f : target.beta * ToFloat(*grad);
    *grad = FromFloat<G>(before + total);
  }
}

inline cudaError_t AddPartialSums(const PartialSums& sums, const VectorGrad& first,
                                  const VectorGrad& second, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(CeilDiv(sums.columns, kSumColumns));
  return ForType(sums.grad_type, [&](auto tag) {
    return Launch(AddPartialSumsKernel<decltype(tag)>, dim3(blocks, second.grad != nullptr ? 2 : 1),
                  dim3(kSumColumns, kSumLanes), stream, sums.partial_sums, first, second,
                  sums.blocks, sums.columns);
  });
}

}  // namespace trainctl::ops::fused
