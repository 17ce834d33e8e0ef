// How a run lays out tensors and rows: what ranks do, and estimates count.
#pragma once

#include <cstdint>

namespace trainctl::job {

// Every Hugging Face tensor starts at a multiple of this many elements of its unit's flat buffer:
// shards and 8-bit blocks align.
inline constexpr int64_t kTensorAlignment = 256;

// The rows of a micro batch are padded to a multiple of this many tokens, for stable shapes.
inline constexpr int64_t kLengthMultiple = 64;

}  // namespace trainctl::job
