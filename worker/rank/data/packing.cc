#include "worker/rank/data/packing.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "common/base/check.h"
#include "worker/rank/data/shuffle.h"

namespace trainctl::data {
namespace {

// Sequences that still take rows. Equal spaces go by the sequences' numbers.
class OpenSequences {
 public:
  explicit OpenSequences(int64_t length) : length_(length) {}

  // The number of the sequence that the row goes to.
  int64_t Place(int64_t row_length) {
    CHECK(row_length <= length_) << row_length << " tokens, of " << length_ << " at most";
    const auto found = spaces_.lower_bound({row_length, 0});
    const bool is_new = found == spaces_.end();
    const auto [space, number] = is_new ? std::pair(length_, sequences_++) : *found;
    if (!is_new) spaces_.erase(found);
    longest_ = std::max(longest_, length_ - space + row_length);
    if (space > row_length) spaces_.emplace(space - row_length, number);
    if (std::ssize(spaces_) > kOpenSequences) spaces_.erase(spaces_.begin());
    return number;
  }

  int64_t sequences() const { return sequences_; }
  int64_t longest() const { return longest_; }

 private:
  const int64_t length_;
  int64_t sequences_ = 0;
  int64_t longest_ = 0;                           // tokens
  std::set<std::pair<int64_t, int64_t>> spaces_;  // (tokens left, number)
};

std::vector<int64_t> PackingOrder(const Dataset& dataset, int64_t seed) {
  std::vector<int64_t> rows = dataset.train;
  Shuffle(seed, base::RandomStream::kPacking, 0, &rows);
  return rows;
}

}  // namespace

PackedRows::PackedRows(std::span<const int64_t> rows, std::span<const int64_t> sequence_of,
                       int64_t sequences)
    : rows_(rows.size()), begins_(sequences + 1) {
  for (const int64_t sequence : sequence_of) ++begins_[sequence + 1];
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  std::vector<int64_t> next(begins_.begin(), begins_.end() - 1);
  for (size_t i = 0; i < rows.size(); ++i) rows_[next[sequence_of[i]]++] = rows[i];
}

PackedRows Pack(const Dataset& dataset, std::span<const int64_t> rows) {
  OpenSequences open(dataset.max_seq_length);
  std::vector<int64_t> sequence_of;
  sequence_of.reserve(rows.size());
  for (const int64_t row : rows) sequence_of.push_back(open.Place(dataset.rows[row].length));
  return {rows, sequence_of, open.sequences()};
}

PackedRows PackTraining(const Dataset& dataset, int64_t seed) {
  return Pack(dataset, PackingOrder(dataset, seed));
}

PackedCounts CountPacked(const Dataset& dataset, int64_t seed) {
  OpenSequences open(dataset.max_seq_length);
  for (const int64_t row : PackingOrder(dataset, seed)) open.Place(dataset.rows[row].length);
  return {open.sequences(), open.longest()};
}

int64_t LengthOf(const Dataset& dataset, Sequence sequence) {
  int64_t length = 0;
  for (const int64_t row : sequence) length += dataset.rows[row].length;
  return length;
}

}  // namespace trainctl::data
