// The host backend's arithmetic: ((r0 + r1) + r2) + …, element by element, always in rank order. So
// a sum over n ranks has the bits of a sum over n micro batches on one rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace trainctl::comm {

enum class Element : uint8_t { kBf16, kF32, kF64, kI64 };

size_t SizeOf(Element element);
std::string_view NameOf(Element element);

// sum[i] = contributions[0][i] + contributions[1][i] + …, count elements each. bf16 is added in
// fp32 and rounded once, at the end; int64 wraps around. sum may be one of the contributions
// (exactly, not shifted).
void SumInRankOrder(std::byte* sum, std::span<const std::byte* const> contributions, size_t count,
                    Element element);

}  // namespace trainctl::comm
