#include "worker/rank/data/packing.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "worker/rank/data/batches.h"

namespace trainctl::data {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

// Rows of these lengths, whose tokens count up from 100.
Dataset RowsOf(const std::vector<int64_t>& lengths, int64_t max_seq_length) {
  Dataset dataset;
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    dataset.rows.push_back({begin, length, 0});
    dataset.train.push_back(std::ssize(dataset.train));
    begin += length;
  }
  std::vector<int32_t> tokens(static_cast<size_t>(begin));
  std::iota(tokens.begin(), tokens.end(), 100);
  dataset.tokens = TokenStore(std::move(tokens));
  dataset.max_seq_length = max_seq_length;
  return dataset;
}

// As the labs' instructions are: many short rows, few long ones.
Dataset ManyRows() {
  std::mt19937 random(5);
  std::vector<int64_t> lengths;
  for (int i = 0; i < 3000; ++i)
    lengths.push_back(
        std::min<int64_t>(512, 20 + static_cast<int64_t>(random() % 7) * (random() % 30)));
  return RowsOf(lengths, 512);
}

std::vector<std::vector<int64_t>> Lists(const PackedRows& packed) {
  std::vector<std::vector<int64_t>> lists;
  for (int64_t i = 0; i < packed.size(); ++i)
    lists.emplace_back(packed[i].begin(), packed[i].end());
  return lists;
}

// The rule again, by looking at every sequence that was begun.
std::vector<std::vector<int64_t>> PackedBySearch(const Dataset& dataset) {
  struct Open {
    int64_t space;
    size_t number;
  };
  std::vector<Open> open;
  std::vector<std::vector<int64_t>> sequences;
  for (const int64_t row : dataset.train) {
    const int64_t length = dataset.rows[row].length;
    const auto least = [](const Open& a, const Open& b) {
      return std::pair(a.space, a.number) < std::pair(b.space, b.number);
    };
    std::ranges::sort(open, least);
    auto found = std::ranges::find_if(open, [&](const Open& o) { return o.space >= length; });
    if (found == open.end()) {
      sequences.emplace_back();
      open.push_back({dataset.max_seq_length, sequences.size() - 1});
      found = open.end() - 1;
    }
    sequences[found->number].push_back(row);
    found->space -= length;
    std::erase_if(open, [](const Open& o) { return o.space == 0; });
    if (std::ssize(open) > kOpenSequences) open.erase(std::ranges::min_element(open, least));
  }
  return sequences;
}

TEST(Pack, PutsARowWhereTheLeastSpaceIsLeft) {
  const Dataset dataset = RowsOf({6, 7, 3, 4, 10, 1}, 10);
  EXPECT_THAT(Lists(Pack(dataset, dataset.train)),
              ElementsAre(ElementsAre(0, 3), ElementsAre(1, 2), ElementsAre(4), ElementsAre(5)));
}

TEST(Pack, EveryRowIsInOneSequenceAndNoneIsTooLong) {
  const Dataset dataset = ManyRows();
  const PackedRows packed = PackTraining(dataset, 3);
  std::vector<int64_t> seen;
  for (int64_t i = 0; i < packed.size(); ++i) {
    EXPECT_LE(LengthOf(dataset, packed[i]), 512);
    seen.insert(seen.end(), packed[i].begin(), packed[i].end());
  }
  std::ranges::sort(seen);
  EXPECT_EQ(seen, dataset.train);
}

TEST(Pack, IsTheRuleAsASearchFollowsIt) {
  const Dataset dataset = ManyRows();
  EXPECT_EQ(Lists(Pack(dataset, dataset.train)), PackedBySearch(dataset));
  std::vector<int64_t> long_rows(3000, 300);  // none fits beside another: the oldest are closed
  long_rows.resize(4500, 200);
  const Dataset pairs = RowsOf(long_rows, 512);
  EXPECT_EQ(Lists(Pack(pairs, pairs.train)), PackedBySearch(pairs));
}

TEST(Pack, CountsAreThoseOfWhatIsPacked) {
  const Dataset dataset = ManyRows();
  const PackedRows packed = PackTraining(dataset, 3);
  const PackedCounts counts = CountPacked(dataset, 3);
  EXPECT_EQ(counts.sequences, packed.size());
  int64_t longest = 0;
  for (int64_t i = 0; i < packed.size(); ++i)
    longest = std::max(longest, LengthOf(dataset, packed[i]));
  EXPECT_EQ(counts.longest, longest);
  const Dataset few = RowsOf({3, 4, 9}, 20);
  EXPECT_EQ(CountPacked(few, 3).longest, 16);
}

TEST(Pack, LeavesLittlePadding) {
  const Dataset dataset = ManyRows();
  double tokens = 0;
  for (const Row& row : dataset.rows) tokens += static_cast<double>(row.length);
  EXPECT_LT(static_cast<double>(PackTraining(dataset, 3).size()) * 512, 1.02 * tokens);
}

TEST(Pack, TheSeedDecidesWhoMeets) {
  const Dataset dataset = ManyRows();
  EXPECT_EQ(Lists(PackTraining(dataset, 3)), Lists(PackTraining(dataset, 3)));
  EXPECT_NE(Lists(PackTraining(dataset, 3)), Lists(PackTraining(dataset, 4)));
}

TEST(MakePackedBatch, RowsFollowEachOtherAndEndInNoTarget) {
  Dataset dataset = RowsOf({3, 2, 4}, 6);  // 100 101 102, 103 104, 105 … 108
  dataset.rows.Change(2).ignored = 2;
  const std::vector<int64_t> first = {0, 1}, second = {2};
  const Batch batch = MakePackedBatch(dataset, std::vector<Sequence>{first, second});
  EXPECT_EQ(batch.rows, 2);
  EXPECT_EQ(batch.length, 6);  // padding ends at max_seq_length
  EXPECT_EQ(batch.longest_row, 5);
  EXPECT_THAT(batch.inputs, ElementsAre(100, 101, 102, 103, 104, 0,  //
                                        105, 106, 107, 108, 0, 0));
  EXPECT_THAT(batch.targets, ElementsAre(101, 102, -100, 104, -100, -100,  //
                                         -100, 107, 108, -100, -100, -100));
  EXPECT_THAT(batch.segments, ElementsAre(0, 3, 5, 6, 10, 12));
  EXPECT_EQ(batch.trained_tokens, 2 + 1 + 2);
}

TEST(MakePackedBatch, FullSequencesHaveNoPadding) {
  const Dataset dataset = RowsOf({6, 2, 8}, 8);
  const std::vector<int64_t> first = {0, 1}, second = {2};
  const Batch batch = MakePackedBatch(dataset, std::vector<Sequence>{first, second});
  EXPECT_THAT(batch.segments, ElementsAre(0, 6, 8, 16));
}

TEST(MakePackedBatch, TrainsOnWhatItsRowsAloneTrainOn) {
  const Dataset dataset = ManyRows();
  const PackedRows packed = PackTraining(dataset, 3);
  for (int64_t i = 0; i < packed.size(); ++i) {
    const std::vector<Sequence> sequences = {packed[i]};
    const Batch batch = MakePackedBatch(dataset, sequences);
    std::vector<int64_t> pairs, expected;  // input and target of each target
    for (size_t t = 0; t < batch.targets.size(); ++t) {
      if (batch.targets[t] != kIgnored)
        pairs.insert(pairs.end(), {batch.inputs[t], batch.targets[t]});
    }
    for (const int64_t row : packed[i]) {
      const Batch alone = MakeBatch(dataset, std::span(&row, 1));
      for (size_t t = 0; t < alone.targets.size(); ++t) {
        if (alone.targets[t] != kIgnored)
          expected.insert(expected.end(), {alone.inputs[t], alone.targets[t]});
      }
    }
    ASSERT_EQ(pairs, expected);
    EXPECT_EQ(batch.trained_tokens, TrainedTokens(dataset, packed[i]));
  }
}

}  // namespace
}  // namespace trainctl::data
