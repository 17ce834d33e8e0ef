// Elements in pieces: W neighbours that are loaded and stored as one, and their way to fp32 and
// back. A piece has 16 bytes and more if W is 8.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

namespace trainctl::ops::fused {

// The widest piece: 16 bytes of bf16, twice 16 of fp32.
inline constexpr int kWide = 8;

template <class T, int W>
struct alignas(sizeof(T) * W < 16 ? sizeof(T) * W : 16) Pack {
  T value[W];
};

template <int W, class T>
__device__ inline Pack<T, W> Load(const T* from) {
  return *reinterpret_cast<const Pack<T, W>*>(from);
}

template <int W, class T>
__device__ inline void Store(T* to, const Pack<T, W>& pack) {
  *reinterpret_cast<Pack<T, W>*>(to) = pack;
}

__device__ inline float ToFloat(float value) { return value; }
__device__ inline float ToFloat(__nv_bfloat16 value) { return __bfloat162float(value); }

template <class T>
__device__ inline T FromFloat(float value) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return value;
  } else {
    return __float2bfloat16(value);
  }
}

// e^x: as exact as fp32 allows for fp32 elements; for bf16 the hardware's approximation, whose
// error is far below their rounding.
template <class T>
__device__ inline float Exp(float x) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return expf(x);
  } else {
    return __expf(x);
  }
}

inline bool IsAligned(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
}

}  // namespace trainctl::ops::fused
