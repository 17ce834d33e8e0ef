// Rows that share sequences, so that few positions are padding. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "worker/rank/data/dataset.h"

namespace trainctl::data {

// Rows of one sequence, one behind the other.
using Sequence = std::span<const int64_t>;

// Sequences as places in one list of rows.
class PackedRows {
 public:
  // sequence_of[i]: that of rows[i], of `sequences` ones. Rows keep their order within each.
  PackedRows(std::span<const int64_t> rows, std::span<const int64_t> sequence_of,
             int64_t sequences);

  int64_t size() const { return std::ssize(begins_) - 1; }
  Sequence operator[](int64_t sequence) const {
    return std::span(rows_).subspan(begins_[sequence], begins_[sequence + 1] - begins_[sequence]);
  }

 private:
  std::vector<int64_t> rows_;
  std::vector<int64_t> begins_;  // of each sequence in rows_, and their end
};

// Sequences of at most dataset.max_seq_length tokens, each row in one of them. By best fit in the
// rows' order: a row goes where it leaves the least space, among the kOpenSequences with most of
// it; else it begins a sequence.
inline constexpr int64_t kOpenSequences = 1024;
PackedRows Pack(const Dataset& dataset, std::span<const int64_t> rows);

// Those of the training rows, in an order that the seed shuffles. The same in each epoch.
PackedRows PackTraining(const Dataset& dataset, int64_t seed);

// How many those are, and tokens of the longest.
struct PackedCounts {
  int64_t sequences = 0;
  int64_t longest = 0;
};
PackedCounts CountPacked(const Dataset& dataset, int64_t seed);

// Tokens of a sequence.
int64_t LengthOf(const Dataset& dataset, Sequence sequence);

}  // namespace trainctl::data
