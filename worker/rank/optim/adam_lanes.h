// The pass of adam_kernel.h, written once over a SIMD width. Lanes: Floats, kWidth, Load, Store,
// Set, Mul, Div, Sqrt, Fma (a·b + c), FmaSub (a·b − c), LoadBf16, StoreBf16; and Stream,
// StreamBf16: stores past the caches, of aligned memory. Each file that includes this gives Lanes
// of its own, in its own unnamed namespace. So no linker mixes code of two instruction sets.
#pragma once

#include "worker/rank/optim/adam_kernel.h"

namespace trainctl::optim {

template <class Lanes, bool kBf16Grad, AdamOut kOut, bool kStream>
void UpdateLanes(const AdamRule& rule, const AdamTile& tile, int64_t count) {
  const ops::AdamWFactors& factors = rule.factors;
  const auto decay = Lanes::Set(factors.decay), beta1 = Lanes::Set(factors.beta1),
             one_minus_beta1 = Lanes::Set(factors.one_minus_beta1);
  const auto beta2 = Lanes::Set(factors.beta2),
             one_minus_beta2 = Lanes::Set(factors.one_minus_beta2);
  const auto step_size = Lanes::Set(factors.step_size),
             second_scale = Lanes::Set(factors.second_scale), eps = Lanes::Set(factors.eps);
  const auto grad_scale = Lanes::Set(rule.grad_scale);
  for (int64_t i = 0; i < count; i += Lanes::kWidth) {
    typename Lanes::Floats grad;
    if constexpr (kBf16Grad) {
      grad = Lanes::LoadBf16(static_cast<const uint16_t*>(tile.grad) + i);
    } else {
      grad = Lanes::Load(static_cast<const float*>(tile.grad) + i);
    }
    grad = Lanes::Mul(grad, grad_scale);
    const auto first =
        Lanes::Fma(beta1, Lanes::Load(tile.first + i), Lanes::Mul(one_minus_beta1, grad));
    const auto second = Lanes::Fma(beta2, Lanes::Load(tile.second + i),
                                   Lanes::Mul(Lanes::Mul(one_minus_beta2, grad), grad));
    const auto change = Lanes::Div(Lanes::Mul(step_size, first),
                                   Lanes::Fma(Lanes::Sqrt(second), second_scale, eps));
    const auto master = Lanes::FmaSub(Lanes::Load(tile.master + i), decay, change);
    Lanes::Store(tile.first + i, first);
    Lanes::Store(tile.second + i, second);
    Lanes::Store(tile.master + i, master);
    if constexpr (kOut == AdamOut::kBf16 && kStream) {
      Lanes::StreamBf16(static_cast<uint16_t*>(tile.out) + i, master);
    } else if constexpr (kOut == AdamOut::kBf16) {
      Lanes::StoreBf16(static_cast<uint16_t*>(tile.out) + i, master);
    } else if constexpr (kOut == AdamOut::kF32 && kStream) {
      Lanes::Stream(static_cast<float*>(tile.out) + i, master);
    } else if constexpr (kOut == AdamOut::kF32) {
      Lanes::Store(static_cast<float*>(tile.out) + i, master);
    }
  }
}

template <class Lanes, bool kBf16Grad, AdamOut kOut>
void UpdateInto(const AdamRule& rule, const AdamTile& tile, int64_t count) {
  const bool aligned = kOut != AdamOut::kNone && reinterpret_cast<uintptr_t>(tile.out) % 64 == 0;
  return aligned ? UpdateLanes<Lanes, kBf16Grad, kOut, true>(rule, tile, count)
                 : UpdateLanes<Lanes, kBf16Grad, kOut, false>(rule, tile, count);
}

template <class Lanes, bool kBf16Grad>
void UpdateFrom(const AdamRule& rule, const AdamTile& tile, int64_t count) {
  switch (tile.out_type) {
    case AdamOut::kNone: return UpdateInto<Lanes, kBf16Grad, AdamOut::kNone>(rule, tile, count);
    case AdamOut::kBf16: return UpdateInto<Lanes, kBf16Grad, AdamOut::kBf16>(rule, tile, count);
    case AdamOut::kF32: return UpdateInto<Lanes, kBf16Grad, AdamOut::kF32>(rule, tile, count);
  }
}

// The first multiple of Lanes::kWidth of the tile; returns how many that were.
template <class Lanes>
int64_t UpdateWide(const AdamRule& rule, const AdamTile& tile) {
  const int64_t count = tile.count / Lanes::kWidth * Lanes::kWidth;
  if (tile.bf16_grad) {
    UpdateFrom<Lanes, true>(rule, tile, count);
  } else {
    UpdateFrom<Lanes, false>(rule, tile, count);
  }
  return count;
}

}  // namespace trainctl::optim
