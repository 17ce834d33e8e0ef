#include "worker/rank/data/batches.h"

#include <gmock/gmock.h>

#include <numeric>
#include <set>

#include "common/model/layout.h"

namespace trainctl::data {
namespace {

using testing::ElementsAre;

// Rows of lengths 3, 1, 70 with tokens 100, 101, … in a row; the first row's first two labels are
// masked.
Dataset SmallDataset() {
  Dataset dataset;
  std::vector<int32_t> tokens(74);
  std::iota(tokens.begin(), tokens.end(), 100);
  dataset.tokens = TokenStore(std::move(tokens));
  dataset.rows = {{0, 3, 2}, {3, 1, 0}, {4, 70, 0}};
  dataset.max_seq_length = 128;
  return dataset;
}

Batch BatchOf(std::vector<int64_t> rows) { return MakeBatch(SmallDataset(), rows); }

std::vector<int64_t> PaddedTo8(std::vector<int64_t> values, int64_t padding) {
  values.resize(8, padding);
  return values;
}

TEST(MakeBatch, TargetsAreShiftedAndPaddedOnTheRight) {
  Dataset dataset = SmallDataset();
  dataset.rows.Change(0).ignored = 0;
  const std::vector<int64_t> rows = {0, 1};
  const Batch batch = MakeBatch(dataset, rows);
  EXPECT_EQ(batch.rows, 2);
  EXPECT_EQ(batch.length, 8);
  EXPECT_EQ(batch.longest_row, 3);
  const auto row = [](const std::vector<int64_t>& all, int64_t i) {
    return std::vector(all.begin() + i * 8, all.begin() + (i + 1) * 8);
  };
  EXPECT_EQ(row(batch.inputs, 0), PaddedTo8({100, 101, 102}, 0));
  EXPECT_EQ(row(batch.inputs, 1), PaddedTo8({103}, 0));
  EXPECT_EQ(row(batch.targets, 0), PaddedTo8({101, 102}, -100));
  EXPECT_EQ(row(batch.targets, 1), PaddedTo8({}, -100));
  EXPECT_EQ(batch.trained_tokens, 2);
}

TEST(MakeBatch, MaskedLabelsAreIgnored) {
  const Batch batch = BatchOf({0});
  EXPECT_EQ(batch.inputs, PaddedTo8({100, 101, 102}, 0));
  EXPECT_EQ(batch.targets, PaddedTo8({-100, 102}, -100));
  EXPECT_EQ(batch.trained_tokens, 1);
}

TEST(MakeBatch, LengthIsThatOfTheLongestRowUpToTheMultiple) {
  EXPECT_EQ(BatchOf({0}).length, 8);
  EXPECT_EQ(BatchOf({0, 2}).length, 72);
}

TEST(PaddedLength, HoldsTheLongestRowAndGrowsWithIt) {
  using job::PaddedLength;
  EXPECT_EQ(PaddedLength(0), 8);
  EXPECT_EQ(PaddedLength(8), 8);
  EXPECT_EQ(PaddedLength(82), 88);
  EXPECT_EQ(PaddedLength(128), 128);
  EXPECT_EQ(PaddedLength(129), 144);
  EXPECT_EQ(PaddedLength(257), 288);
  EXPECT_EQ(PaddedLength(513), 576);
  EXPECT_EQ(PaddedLength(82, 82), 82);
  EXPECT_EQ(PaddedLength(81, 82), 82);
  EXPECT_EQ(PaddedLength(80, 82), 80);
  for (int64_t longest = 1; longest < 5000; ++longest) {
    EXPECT_GE(PaddedLength(longest), longest);
    EXPECT_GE(PaddedLength(longest), PaddedLength(longest - 1));
    EXPECT_LE(PaddedLength(longest), longest + std::max<int64_t>(7, longest / 8)) << longest;
  }
}

TEST(MakeBatch, TrainedTokensAreTheTargetsThatCount) {
  for (const auto& rows : {std::vector<int64_t>{0, 1, 2}, {1}, {2, 2}, {0}}) {
    const Batch batch = BatchOf(rows);
    const auto counted =
        batch.targets.size() - std::count(batch.targets.begin(), batch.targets.end(), kIgnored);
    EXPECT_EQ(batch.trained_tokens, static_cast<int64_t>(counted));
    EXPECT_EQ(TrainedTokens(SmallDataset(), rows), batch.trained_tokens);
  }
}

TEST(EpochOrder, IsAShuffleOfTheRowsThatSeedAndEpochDecide) {
  std::vector<int64_t> rows(50);
  std::iota(rows.begin(), rows.end(), 1000);
  const auto order = EpochOrder(1, 0, rows);
  EXPECT_THAT(order, testing::UnorderedElementsAreArray(rows));
  EXPECT_EQ(order, EpochOrder(1, 0, rows));
  EXPECT_NE(order, EpochOrder(1, 1, rows));
  EXPECT_NE(order, EpochOrder(2, 0, rows));
}

// Rows of 1 to 900 tokens, in no order.
Dataset RowsOfManyLengths() {
  Dataset dataset;
  for (int64_t i = 0; i < 1003; ++i) dataset.rows.push_back({0, 1 + i * 389 % 900, 0});
  return dataset;
}

std::vector<int64_t> AllRows(const Dataset& dataset) {
  std::vector<int64_t> rows(dataset.rows.size());
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

TEST(GroupByLength, KeepsTheRowsThatTheOrderHasInWholeBatches) {
  const Dataset dataset = RowsOfManyLengths();
  const auto order = EpochOrder(1, 0, AllRows(dataset));
  const auto grouped = GroupByLength(dataset, order, 8);
  const auto sorted = [](std::vector<int64_t> rows) {
    std::ranges::sort(rows);
    return rows;
  };
  EXPECT_EQ(sorted(grouped), sorted({order.begin(), order.begin() + 1000}));
  EXPECT_EQ(grouped, GroupByLength(dataset, order, 8));
  EXPECT_NE(grouped, GroupByLength(dataset, EpochOrder(1, 1, AllRows(dataset)), 8));
}

TEST(GroupByLength, PadsLessAndBeginsWithTheLongest) {
  const Dataset dataset = RowsOfManyLengths();
  const auto order = EpochOrder(1, 0, AllRows(dataset));
  const auto grouped = GroupByLength(dataset, order, 8);
  const auto positions = [&](const std::vector<int64_t>& rows) {
    int64_t padded = 0;
    for (size_t i = 0; i + 4 <= rows.size(); i += 4) {
      int64_t longest = 0;
      for (size_t k = i; k < i + 4; ++k) longest = std::max(longest, dataset.rows[rows[k]].length);
      padded += 4 * longest;
    }
    return static_cast<double>(padded);
  };
  double tokens = 0;
  for (const int64_t row : grouped) tokens += static_cast<double>(dataset.rows[row].length);
  EXPECT_GT(positions(order), 1.5 * tokens);
  EXPECT_LT(positions(grouped), 1.05 * tokens);
  const auto lengths = [&](int64_t row) { return dataset.rows[row].length; };
  EXPECT_EQ(lengths(grouped[0]), lengths(std::ranges::max(grouped, {}, lengths)));
}

TEST(GroupByLength, RunsAreShuffledAmongEachOther) {
  const Dataset dataset = RowsOfManyLengths();
  const auto grouped = GroupByLength(dataset, EpochOrder(1, 0, AllRows(dataset)), 8);
  int rises = 0;  // 125 batches make five runs of 31 at most
  for (size_t i = 1; i < grouped.size(); ++i)
    rises += dataset.rows[grouped[i]].length > dataset.rows[grouped[i - 1]].length + 300;
  EXPECT_EQ(rises, 4);
}

TEST(GroupByLength, FewRowsAreOneRun) {
  const Dataset dataset = SmallDataset();
  EXPECT_THAT(GroupByLength(dataset, {1, 0, 2}, 3), ElementsAre(2, 0, 1));
}

TEST(MicroBatchRows, MicroBatchKBelongsToRankKModDevices) {
  std::vector<int64_t> order(24);
  std::iota(order.begin(), order.end(), 0);
  const job::BatchPlan plan{.micro = 2, .devices = 2, .accumulation = 3, .global = 12};
  const auto rows = [&](int64_t step, int64_t micro_step, int64_t rank) {
    const auto span = MicroBatchRows(order, step, micro_step, rank, plan);
    return std::vector<int64_t>(span.begin(), span.end());
  };
  EXPECT_THAT(rows(0, 0, 0), ElementsAre(0, 1));
  EXPECT_THAT(rows(0, 0, 1), ElementsAre(2, 3));
  EXPECT_THAT(rows(0, 1, 0), ElementsAre(4, 5));
  EXPECT_THAT(rows(1, 2, 1), ElementsAre(22, 23));
}

TEST(MicroBatchRows, RanksTimesAccumulationSeeTheSameMicroBatches) {
  std::vector<int64_t> order(32);
  std::iota(order.begin(), order.end(), 0);
  const auto sequence = [&](int64_t devices) {
    const job::BatchPlan plan{
        .micro = 2, .devices = devices, .accumulation = 4 / devices, .global = 8};
    std::vector<int64_t> seen;
    for (int64_t step = 0; step < 4; ++step) {
      for (int64_t k = 0; k < 4; ++k) {
        const auto rows = MicroBatchRows(order, step, k / devices, k % devices, plan);
        seen.insert(seen.end(), rows.begin(), rows.end());
      }
    }
    return seen;
  };
  EXPECT_EQ(sequence(1), order);
  EXPECT_EQ(sequence(2), order);
  EXPECT_EQ(sequence(4), order);
}

TEST(MicroBatchRowsDeathTest, AStepBeyondTheEpochIsTheProgrammersError) {
  const std::vector<int64_t> order(7);
  const job::BatchPlan plan{.micro = 4, .devices = 1, .accumulation = 1, .global = 4};
  EXPECT_DEATH(MicroBatchRows(order, 1, 0, 0, plan), "step 1 of 7 rows");
}

}  // namespace
}  // namespace trainctl::data
