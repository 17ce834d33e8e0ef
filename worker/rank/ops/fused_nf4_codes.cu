// NF4 as bitsandbytes has it, bit for bit. Quantizing (while a model loads): a warp a block of 64.
// Dequantizing (in every use of a matrix): a thread 8 elements, 4 bytes in and 16 out, the values
// looked up in shared memory.
#include "worker/rank/ops/fused_launch.cuh"
#include "worker/rank/ops/fused_pack.cuh"
#include "worker/rank/ops/nf4_table.h"

namespace trainctl::ops::fused {
namespace {

constexpr int kThreads = 256;
constexpr int kWarp = 32;
constexpr Nf4Table kTable = MakeNf4Table();

__device__ int CodeOf(const Nf4Table& table, float x) {
  int code = 0;
#pragma unroll
  for (int i = 0; i < 15; ++i) {
    code += x > table.bound[i] ? 1 : 0;
  }
  return code;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    QuantizeKernel(Nf4Table table, const T* values, uint8_t* codes, float* scales, int64_t blocks) {
  AwaitPrevious();
  const int lane = threadIdx.x % kWarp;
  const int64_t warps = static_cast<int64_t>(gridDim.x) * (kThreads / kWarp);
  for (int64_t block = static_cast<int64_t>(blockIdx.x) * (kThreads / kWarp) + threadIdx.x / kWarp;
       block < blocks; block += warps) {
    const auto pair = Load<2>(values + block * kNf4Block + 2 * lane);
    const float even = ToFloat(pair.value[0]), odd = ToFloat(pair.value[1]);
    float scale = fmaxf(fabsf(even), fabsf(odd));
    for (int distance = kWarp / 2; distance > 0; distance /= 2) {
      scale = fmaxf(scale, __shfl_xor_sync(0xFFFFFFFF, scale, distance));
    }
    const float inverse = __frcp_rn(fmaxf(scale, kNf4LeastScale));
    const int high = CodeOf(table, __fmul_rn(even, inverse)),
              low = CodeOf(table, __fmul_rn(odd, inverse));
    codes[block * kWarp + lane] = static_cast<uint8_t>(high << 4 | low);
    if (lane == 0) {
      scales[block] = scale;
    }
  }
}

template <bool kDouble>
__device__ float ScaleOf(const Nf4& matrix, int64_t block) {
  if (!kDouble) {
    return matrix.scales[block];
  }
  return __fadd_rn(
      __fmul_rn(matrix.map[matrix.scale_codes[block]], matrix.scale_scales[block / kNf4ScaleBlock]),
      *matrix.offset);
}

template <class T, bool kDouble>
__global__ void __launch_bounds__(kThreads) DequantizeKernel(Nf4Table table, Nf4 matrix, T* out) {
  AwaitPrevious();
  __shared__ float values[16];
  if (threadIdx.x < 16) {
    values[threadIdx.x] = table.code[threadIdx.x];
  }
  __syncthreads();
  const int64_t groups = matrix.count / kWide, stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t group = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; group < groups;
       group += stride) {
    const uint32_t codes = reinterpret_cast<const uint32_t*>(matrix.codes)[group];
    const float scale = ScaleOf<kDouble>(matrix, group / (kNf4Block / kWide));
    Pack<T, kWide> result;
#pragma unroll
    for (int k = 0; k < kWide; ++k) {
      const int shift = 8 * (k / 2) + (k % 2 == 0 ? 4 : 0);
      result.value[k] = FromFloat<T>(__fmul_rn(values[codes >> shift & 15], scale));
    }
    Store(out + group * kWide, result);
  }
}

}  // namespace

cudaError_t Nf4Quantize(Type element, int64_t count, const void* values, uint8_t* codes,
                        float* scales, cudaStream_t stream) {
  if (count < 0 || count % kNf4Block != 0) {
    return cudaErrorInvalidValue;
  }
  if (count == 0) {
    return cudaSuccess;
  }
  const int64_t blocks = count / kNf4Block;
  return ForType(element, [&](auto tag) {
    using T = decltype(tag);
    return Launch(QuantizeKernel<T>, StridedGrid(blocks, kThreads / kWarp), kThreads, stream,
                  kTable, static_cast<const T*>(values), codes, scales, blocks);
  });
}

cudaError_t Nf4Dequantize(const Nf4& matrix, Type element, void* out, cudaStream_t stream) {
  const bool is_double = matrix.scales == nullptr;
  if (matrix.count < 0 || matrix.count % kNf4Block != 0 || !IsAligned(out)) {
    return cudaErrorInvalidValue;
  }
  if (matrix.count == 0) {
    return cudaSuccess;
  }
  return ForType(element, [&](auto tag) {
    using T = decltype(tag);
    const auto kernel = is_double ? DequantizeKernel<T, true> : DequantizeKernel<T, false>;
    return Launch(kernel, StridedGrid(matrix.count / kWide, kThreads), kThreads, stream, kTable,
                  matrix, static_cast<T*>(out));
  });
}

}  // namespace trainctl::ops::fused
