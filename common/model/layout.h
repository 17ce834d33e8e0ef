// How a run lays out tensors and rows: what ranks do, and estimates count.
#pragma once

#include <algorithm>
#include <cstdint>

namespace trainctl::job {

// Every Hugging Face tensor starts at a multiple of this many elements of its unit's flat buffer:
// shards and 8-bit blocks align.
inline constexpr int64_t kTensorAlignment = 256;

// Elements of a matrix, row by row, that share a scale where it is held in 4 bits.
inline constexpr int64_t kNf4Block = 64;

// On CPUs rows attend in a window by pieces: of so many positions, or of the window's where it is
// smaller.
inline constexpr int64_t kMostWindowPiece = 256;

// The rows of a micro batch, whose longest has so many tokens, are padded to a multiple of this.
// There are few shapes of long rows, and little padding of short ones: an eighth from 64 on.
constexpr int64_t LengthMultiple(int64_t longest) {
  return longest <= 128 ? 8 : longest <= 256 ? 16 : longest <= 512 ? 32 : 64;
}

// The length of a micro batch whose longest row has so many tokens. Grows with it.
constexpr int64_t PaddedLength(int64_t longest) {
  const int64_t multiple = LengthMultiple(longest);
  return std::max<int64_t>(1, (longest + multiple - 1) / multiple) * multiple;
}

// The same where no row is longer than `most`: nor is the micro batch.
constexpr int64_t PaddedLength(int64_t longest, int64_t most) {
  const int64_t padded = PaddedLength(longest);
  return longest <= most ? std::min(padded, most) : padded;
}

// How many rows train.group_by_length sorts together, of an epoch of so many: up to 50 global
// batches. An epoch of four batches or more has at least four such runs, so that it stays random.
constexpr int64_t RowsSortedTogether(int64_t rows, int64_t global_batch) {
  return std::clamp<int64_t>(rows / global_batch / 4, 1, 50) * global_batch;
}

}  // namespace trainctl::job
