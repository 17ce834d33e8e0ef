// Products of matrices in shared memory by the tensor cores, in tiles of 16 × 16. Rows and columns
// beyond a matrix are zeros. A leading dimension is in elements: 16 bytes more than the columns, so
// that the rows of a tile lie in different banks.
#pragma once

#include <mma.h>

#include "worker/rank/ops/fused_pack.cuh"
#include "worker/rank/ops/fused_reduce.cuh"

namespace trainctl::ops::fused {

inline constexpr int kTile = 16;
inline constexpr int kMostShared = 227 * 1024;  // bytes that a block may have

using TileElement = __nv_bfloat16;
using TileProduct = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, kTile, kTile, kTile, float>;

__host__ __device__ inline int Tiles(int64_t count) {
  return static_cast<int>((count + kTile - 1) / kTile);
}
__host__ __device__ inline int LeadingDimension(int64_t columns) {
  return Tiles(columns) * kTile + 8;
}

// A matrix from global memory to [all_rows, Tiles(columns) · 16]. columns: a multiple of 8.
__device__ inline void ReadTiles(TileElement* to, const TileElement* from, int64_t row_stride,
                                 int64_t rows, int all_rows, int columns) {
  const int packs = Tiles(columns) * kTile / kWide, ld = LeadingDimension(columns);
  for (int i = threadIdx.x; i < all_rows * packs; i += static_cast<int>(blockDim.x)) {
    const int row = i / packs, column = i % packs * kWide;
    Pack<TileElement, kWide> pack = {};
    if (row < rows && column < columns) {
      pack = Load<kWide>(from + row * row_stride + column);
    }
    Store(to + row * ld + column, pack);
  }
}

// The tile that a warp has computed, in its part of the shared memory; a lane has 8 neighbours.
struct TileOfWarp {
  float* values;

  __device__ explicit TileOfWarp(float* tiles)
      : values(tiles + threadIdx.x / kWarp * kTile * kTile) {}

  __device__ static int Row() { return static_cast<int>(threadIdx.x) % kWarp / 2; }
  __device__ static int Column() { return static_cast<int>(threadIdx.x) % 2 * kWide; }
  __device__ const float* Own() const { return values + Row() * kTile + Column(); }

  __device__ void Put(const TileProduct& product) const {
    __syncwarp();
    nvcuda::wmma::store_matrix_sync(values, product, kTile, nvcuda::wmma::mem_row_major);
    __syncwarp();
  }
  // To a matrix of row_stride, of which so many of the tile's rows and columns exist.
  __device__ void Write(TileElement* to, int64_t row_stride, int64_t rows, int64_t columns) const {
    if (Row() >= rows || Column() >= columns) {
      return;
    }
    Pack<TileElement, kWide> pack;
#pragma unroll
    for (int k = 0; k < kWide; ++k) {
      pack.value[k] = FromFloat<TileElement>(Own()[k]);
    }
    Store(to + Row() * row_stride + Column(), pack);
  }
};

using RowMajor = nvcuda::wmma::row_major;
using Transposed = nvcuda::wmma::col_major;  // as it lies in memory

// A factor of a product: its first tile, and the elements from a tile to the next along the sum.
struct TileFactor {
  const TileElement* data;
  int ld, step;
};

// Σ over `steps` tiles of left · right.
template <class LeftLayout, class RightLayout>
__device__ inline TileProduct Multiply(const TileFactor& left, const TileFactor& right, int steps) {
  using nvcuda::wmma::fragment;
  TileProduct product;
  nvcuda::wmma::fill_fragment(product, 0.0f);
  for (int i = 0; i < steps; ++i) {
    fragment<nvcuda::wmma::matrix_a, kTile, kTile, kTile, TileElement, LeftLayout> a;
    fragment<nvcuda::wmma::matrix_b, kTile, kTile, kTile, TileElement, RightLayout> b;
    nvcuda::wmma::load_matrix_sync(a, left.data + i * left.step, left.ld);
    nvcuda::wmma::load_matrix_sync(b, right.data + i * right.step, right.ld);
    nvcuda::wmma::mma_sync(product, a, b, product);
  }
  return product;
}

__device__ inline float WarpMax(float value) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}

}  // namespace trainctl::ops::fused
