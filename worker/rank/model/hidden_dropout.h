// By which numbers dropouts of hidden states are counted: apart from those of adapters, which begin
// at 0.
#pragma once

#include <cstdint>

namespace trainctl::model {

inline constexpr uint32_t kFirstHiddenDropout = uint32_t{1} << 31;  // of a decoder: two a block
inline constexpr uint32_t kFirstEncoderDropout = kFirstHiddenDropout + (uint32_t{1} << 30);

}  // namespace trainctl::model
