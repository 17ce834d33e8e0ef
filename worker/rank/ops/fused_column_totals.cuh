// Sums over all rows. A stripe of columns is a cluster's, and its threads take rows in turn: the
// blocks add up what the others hold in shared memory, so that no partial sums pass through the
// device's. A GPU without clusters has one block a stripe. The order of a sum depends on the shape
// and the GPU's kind alone.
#pragma once

#include <cooperative_groups.h>

#include "worker/rank/ops/fused_launch.cuh"
#include "worker/rank/ops/fused_pack.cuh"
#include "worker/rank/ops/fused_reduce.cuh"

namespace trainctl::ops::fused {

inline constexpr int kStripeThreads = 256, kMostLanes = 32;
inline constexpr int kStripesBlocks = 3;  // of a processor at once, by their registers
inline constexpr int kMostRanks = 8;  // blocks of a cluster: as many as every GPU with clusters has

// A matrix in stripes that are wide enough for few of them and narrow enough to occupy every
// processor.
struct Stripes {
  int lanes = 0;  // threads beside each other, a pack of W columns each
  int slots = 0;  // rows that a block reads at once
  int64_t count = 0;
};

inline Stripes StripesOf(int64_t columns, int width) {
  constexpr int64_t kMostStripes = 132 * kStripesBlocks / kMostRanks;  // an H200 at once
  const int64_t packs = CeilDiv(columns, width);
  int lanes = 4;
  while (lanes < kMostLanes && CeilDiv(packs, lanes) > kMostStripes) {
    lanes *= 2;
  }
  return {lanes, kStripeThreads / lanes, CeilDiv(packs, lanes)};
}

template <class... Parameters, class... Arguments>
cudaError_t LaunchStripes(void (*kernel)(Parameters...), const Stripes& stripes,
                          cudaStream_t stream, Arguments... arguments) {
  int major = 0;
  if (const cudaError_t error = ComputeCapabilityMajor(major); error != cudaSuccess) return error;
  const unsigned ranks = major >= 9 ? kMostRanks : 1;
  return Launch(kernel,
                LaunchShape{.grid = dim3(Grid(stripes.count), ranks),
                            .block = kStripeThreads,
                            .cluster = dim3(1, ranks)},
                stream, arguments...);
}

// A thread's place: the columns from `column` on of rows row, row + step, …
struct StripePlace {
  int64_t row, step, column;

  __device__ StripePlace(const Stripes& stripes, int width)
      : row(static_cast<int64_t>(blockIdx.y) * stripes.slots + threadIdx.x / stripes.lanes),
        step(static_cast<int64_t>(gridDim.y) * stripes.slots),
        column((static_cast<int64_t>(blockIdx.x) * stripes.lanes + threadIdx.x % stripes.lanes) *
               width) {}
};

// The blocks of a stripe.
struct StripeBlocks {
  __device__ static void Sync() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cooperative_groups::this_cluster().sync();
#else
    __syncthreads();
#endif
  }
  // The block of that rank's copy of what lies in shared memory.
  __device__ static const float* SharedOf(float* own, int rank) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    return cooperative_groups::this_cluster().map_shared_rank(own, rank);
#else
    return own;
#endif
  }
};

// Shared memory for sums of threads, of groups of them and of the block: S a thread.
template <int S>
struct SharedSums {
  alignas(16) float of_threads[kStripeThreads * S];
  float of_groups[kMostLanes * S > kStripeThreads ? kMostLanes* S : kStripeThreads];
  float of_block[kMostLanes * S];
};

// Calls body(i, total) once for each sum i of lane i / S of the stripe: the total of all threads of
// that lane. All threads of all blocks call it, once.
template <int S, class Body>
__device__ inline void ForTotals(const Stripes& stripes, const float (&sums)[S],
                                 SharedSums<S>& shared, const Body& body) {
  constexpr int kMostGroups = 16;
  const int thread = static_cast<int>(threadIdx.x), width = stripes.lanes * S;
  if constexpr (S % 4 == 0) {
#pragma unroll
    for (int k = 0; k < S; k += 4) {
      Store(shared.of_threads + thread * S + k,
            Pack<float, 4>{{sums[k], sums[k + 1], sums[k + 2], sums[k + 3]}});
    }
  } else {
#pragma unroll
    for (int k = 0; k < S; ++k) {
      shared.of_threads[thread * S + k] = sums[k];
    }
  }
  __syncthreads();
  const int groups = min(max(kStripeThreads / width, 1), kMostGroups);
  for (int i = thread; i < groups * width; i += kStripeThreads) {
    float sum = 0;
    for (int slot = i / width; slot < stripes.slots; slot += groups) {
      sum += shared.of_threads[slot * width + i % width];
    }
    shared.of_groups[i] = sum;
  }
  __syncthreads();
  for (int i = thread; i < width; i += kStripeThreads) {
    float sum = 0;
    for (int group = 0; group < groups; ++group) {
      sum += shared.of_groups[group * width + i];
    }
    shared.of_block[i] = sum;
  }
  StripeBlocks::Sync();
  // Each block finishes some of the sums.
  const int ranks = static_cast<int>(gridDim.y), share = (width + ranks - 1) / ranks;
  const int begin = static_cast<int>(blockIdx.y) * share, end = min(begin + share, width);
  for (int i = begin + thread; i < end; i += kStripeThreads) {
    float total = 0;
#pragma unroll 8
    for (int rank = 0; rank < ranks; ++rank) {
      total += StripeBlocks::SharedOf(shared.of_block, rank)[i];
    }
    body(i, total);
  }
  StripeBlocks::Sync();  // nobody leaves while others read
}

// *grad = beta · *grad + total
template <class G>
__device__ inline void AddTotal(G* grad, float beta, float total) {
  *grad = FromFloat<G>((beta == 0 ? 0.0f : beta * ToFloat(*grad)) + total);
}

// The gradients of the vectors whose columns lie side by side.
struct ColumnGradsOf {
  ColumnGrad part[kMaxColumnGrads];

  template <class G>
  __device__ void Add(int64_t column, float total) const {
#pragma unroll
    for (const ColumnGrad& own : part) {
      if (column >= 0 && column < own.columns) {
        AddTotal(static_cast<G*>(own.grad) + column, own.beta, total);
      }
      column -= own.columns;
    }
  }
};

}  // namespace trainctl::ops::fused
