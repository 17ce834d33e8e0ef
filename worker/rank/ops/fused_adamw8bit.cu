// AdamW with 8-bit moments: one pass over parameters, gradients and codes. A warp has a block of
// 256 elements, 8 a lane, in its registers: decodes its moments, updates them and the parameters,
// and encodes the moments again by the block's new largest magnitudes. Bound by memory: 10 bytes a
// parameter in bf16, 16 in fp32, 18 with a compute copy.
#include "worker/rank/ops/fused_adamw.cuh"
#include "worker/rank/ops/fused_launch.cuh"
#include "worker/rank/ops/fused_pack.cuh"
#include "worker/rank/ops/fused_reduce.cuh"

namespace trainctl::ops::fused {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
static_assert(kMomentBlock == kWarp * kWide);

template <class P, class G>
struct Buffers {
  P* parameters;
  const G* grads;
  __nv_bfloat16* compute_copy;
  const float* grad_scale;
  EightBitMoments moments;
};

__device__ int CodeOf(const DynamicTable& table, float x) {
  const uint32_t magnitude = (__float_as_uint(x) & 0x7fffffffu) >> 16;
  const uint32_t cell = min(max(magnitude, kFirstCell) - kFirstCell, kCells - 1);
  const int first = table.first[__float_as_uint(x) >> 31][cell];
  return first + (table.bound[first] < x ? 1 : 0);
}

__device__ float WarpMax(float value) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}

// Writes the codes of this lane's moments, and the block's absmax.
__device__ void Encode(const DynamicTable& table, const float (&moments)[kWide], uint8_t* codes,
                       float* absmax) {
  float largest = 0;
  for (int k = 0; k < kWide; ++k) {
    largest = fmaxf(largest, fabsf(moments[k]));
  }
  largest = WarpMax(largest);
  const float scale = 1 / fmaxf(largest, 1e-38f);
  Pack<uint8_t, kWide> packed;
  for (int k = 0; k < kWide; ++k) {
    packed.value[k] = static_cast<uint8_t>(CodeOf(table, __fmul_rn(moments[k], scale)));
  }
  Store(codes, packed);
  if (threadIdx.x % kWarp == 0) {
    *absmax = largest;
  }
}

// Moments are rounded exactly where bitsandbytes' CPU implementation rounds them, so that codes
// agree bit for bit.
template <class P, class G>
__device__ void UpdateBlock(const Buffers<P, G>& b, const DynamicTables& tables,
                            const AdamWFactors& factors, float grad_scale, int64_t block) {
  const int64_t at = block * kMomentBlock + threadIdx.x % kWarp * kWide;
  auto parameters = Load<kWide>(b.parameters + at);
  const auto grads = Load<kWide>(b.grads + at);
  const auto first_codes = Load<kWide>(b.moments.first + at),
             second_codes = Load<kWide>(b.moments.second + at);
  const float first_absmax = b.moments.first_absmax[block],
              second_absmax = b.moments.second_absmax[block];
  float first[kWide], second[kWide];
  Pack<__nv_bfloat16, kWide> copies;
  for (int k = 0; k < kWide; ++k) {
    const float grad = __fmul_rn(ToFloat(grads.value[k]), grad_scale);
    const float old_first = __fmul_rn(tables.of_signed.value[first_codes.value[k]], first_absmax);
    const float old_second =
        __fmul_rn(tables.of_unsigned.value[second_codes.value[k]], second_absmax);
    first[k] = __fmaf_rn(grad, factors.one_minus_beta1, __fmul_rn(old_first, factors.beta1));
    second[k] = __fadd_rn(__fmul_rn(old_second, factors.beta2),
                          __fmul_rn(__fmul_rn(factors.one_minus_beta2, grad), grad));
    const float updated = AdamWUpdated(factors, ToFloat(parameters.value[k]), first[k], second[k]);
    parameters.value[k] = FromFloat<P>(updated);
    copies.value[k] = FromFloat<__nv_bfloat16>(updated);
  }
  Store(b.parameters + at, parameters);
  if (b.compute_copy != nullptr) {
    Store(b.compute_copy + at, copies);
  }
  Encode(tables.of_signed, first, b.moments.first + at, b.moments.first_absmax + block);
  Encode(tables.of_unsigned, second, b.moments.second + at, b.moments.second_absmax + block);
}

template <class P, class G>
__global__ void __launch_bounds__(kThreads)
    UpdateKernel(Buffers<P, G> b, AdamWFactors factors, int64_t blocks) {
  AwaitPrevious();
  __shared__ DynamicTables tables;
  static_assert(sizeof(DynamicTables) % sizeof(uint32_t) == 0);
  for (size_t word = threadIdx.x; word < sizeof(DynamicTables) / sizeof(uint32_t);
       word += kThreads) {
    reinterpret_cast<uint32_t*>(&tables)[word] =
        reinterpret_cast<const uint32_t*>(b.moments.tables)[word];
  }
  __syncthreads();
  const float grad_scale = b.grad_scale != nullptr ? *b.grad_scale : 1.0f;
  for (int64_t block = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
       block < blocks; block += static_cast<int64_t>(gridDim.x) * kWarps) {
    UpdateBlock(b, tables, factors, grad_scale, block);
  }
}

template <class P, class G>
cudaError_t LaunchUpdate(const FlatParameters& flat, const EightBitMoments& moments,
                         const AdamWFactors& factors, cudaStream_t stream) {
  const Buffers<P, G> buffers{static_cast<P*>(flat.parameters), static_cast<const G*>(flat.grads),
                              static_cast<__nv_bfloat16*>(flat.compute_copy), flat.grad_scale,
                              moments};
  const int64_t blocks = flat.count / kMomentBlock;
  return Launch(UpdateKernel<P, G>, StridedGrid(blocks * kWarp, kThreads), kThreads, stream,
                buffers, factors, blocks);
}

}  // namespace

cudaError_t AdamW8bit(const FlatParameters& flat, const EightBitMoments& moments,
                      const AdamWStep& step, cudaStream_t stream) {
  const bool aligned = IsAligned(flat.parameters) && IsAligned(flat.grads) &&
                       IsAligned(flat.compute_copy) &&
                       reinterpret_cast<uintptr_t>(moments.first) % 8 == 0 &&
                       reinterpret_cast<uintptr_t>(moments.second) % 8 == 0;
  const bool is_master = flat.parameter_type == Type::kF32;
  if (flat.count < 0 || flat.count % kMomentBlock != 0 || !aligned || moments.tables == nullptr ||
      flat.fp32_moments ||
      (!is_master && (flat.grad_type == Type::kF32 || flat.compute_copy != nullptr))) {
    return cudaErrorInvalidValue;
  }
  if (flat.count == 0) {
    return cudaSuccess;
  }
  const AdamWFactors factors = FactorsOf(step);
  if (!is_master) {
    return LaunchUpdate<__nv_bfloat16, __nv_bfloat16>(flat, moments, factors, stream);
  }
  return flat.grad_type == Type::kF32
             ? LaunchUpdate<float, float>(flat, moments, factors, stream)
             : LaunchUpdate<float, __nv_bfloat16>(flat, moments, factors, stream);
}

}  // namespace trainctl::ops::fused
