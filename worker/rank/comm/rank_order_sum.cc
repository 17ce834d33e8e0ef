#include "worker/rank/comm/rank_order_sum.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "common/base/check.h"

namespace trainctl::comm {
namespace {

struct Bf16 {
  uint16_t bits;
};

float Widen(Bf16 value) { return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16); }

// Round to nearest, ties to even; a NaN stays a NaN.
Bf16 Narrow(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto rounded = static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  return {std::isnan(value) ? uint16_t{0x7fc0} : rounded};
}

// How one stored type is accumulated: uint64_t for int64, since its overflow is defined.
template <class Stored, class Accumulator>
struct Arithmetic {
  static Accumulator Load(Stored value) { return static_cast<Accumulator>(value); }
  static Stored Store(Accumulator value) { return static_cast<Stored>(value); }
};
template <>
struct Arithmetic<Bf16, float> {
  static float Load(Bf16 value) { return Widen(value); }
  static Bf16 Store(float value) { return Narrow(value); }
};

// Blocks that stay in the first-level cache, with loops that the compiler vectorizes.
template <class Stored, class Accumulator>
void Sum(std::byte* sum, std::span<const std::byte* const> contributions, size_t count) {
  using Math = Arithmetic<Stored, Accumulator>;
  constexpr size_t kBlock = 1024;
  std::array<Accumulator, kBlock> block;
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t size = std::min(kBlock, count - begin);
    const auto* first = reinterpret_cast<const Stored*>(contributions[0]) + begin;
    for (size_t i = 0; i < size; ++i) {
      block[i] = Math::Load(first[i]);
    }
    for (const std::byte* contribution : contributions.subspan(1)) {
      const auto* next = reinterpret_cast<const Stored*>(contribution) + begin;
      for (size_t i = 0; i < size; ++i) {
        block[i] += Math::Load(next[i]);
      }
    }
    auto* out = reinterpret_cast<Stored*>(sum) + begin;
    for (size_t i = 0; i < size; ++i) {
      out[i] = Math::Store(block[i]);
    }
  }
}

}  // namespace

size_t SizeOf(Element element) {
  switch (element) {
    case Element::kBf16: return 2;
    case Element::kF32: return 4;
    case Element::kF64: return 8;
    case Element::kI64: return 8;
  }
  return 0;
}

std::string_view NameOf(Element element) {
  switch (element) {
    case Element::kBf16: return "bf16";
    case Element::kF32: return "fp32";
    case Element::kF64: return "fp64";
    case Element::kI64: return "int64";
  }
  return "unknown";
}

void SumInRankOrder(std::byte* sum, std::span<const std::byte* const> contributions, size_t count,
                    Element element) {
  CHECK(!contributions.empty());
  switch (element) {
    case Element::kBf16: return Sum<Bf16, float>(sum, contributions, count);
    case Element::kF32: return Sum<float, float>(sum, contributions, count);
    case Element::kF64: return Sum<double, double>(sum, contributions, count);
    case Element::kI64: return Sum<int64_t, uint64_t>(sum, contributions, count);
  }
}

}  // namespace trainctl::comm
