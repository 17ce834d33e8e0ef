// How a run lays out tensors and rows: what ranks do, and estimates count.
#pragma once

#include <algorithm>
#include <cstdint>

namespace trainctl::job {

// Every Hugging Face tensor starts at a multiple of this many elements of its unit's flat buffer:
// shards and 8-bit blocks align.
inline constexpr int64_t kTensorAlignment = 256;

// The rows of a micro batch are padded to a multiple of this many tokens, for stable shapes.
inline constexpr int64_t kLengthMultiple = 64;

// How many rows train.group_by_length sorts together, of an epoch of so many: up to 50 global
// batches. An epoch of four batches or more has at least four such runs, so that it stays random.
constexpr int64_t RowsSortedTogether(int64_t rows, int64_t global_batch) {
  return std::clamp<int64_t>(rows / global_batch / 4, 1, 50) * global_batch;
}

}  // namespace trainctl::job
