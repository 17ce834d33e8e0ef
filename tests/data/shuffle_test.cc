#include "worker/rank/data/shuffle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace trainctl::data {
namespace {

std::vector<int64_t> Shuffled(int64_t size, int64_t seed, uint32_t instance) {
  std::vector<int64_t> values(size);
  std::iota(values.begin(), values.end(), 0);
  Shuffle(seed, base::RandomStream::kEpochOrder, instance, &values);
  return values;
}

TEST(Shuffle, IsAPermutationThatSeedAndInstanceDecide) {
  std::vector<int64_t> sorted = Shuffled(1000, 1, 0);
  EXPECT_EQ(sorted, Shuffled(1000, 1, 0));
  EXPECT_NE(sorted, Shuffled(1000, 2, 0));
  EXPECT_NE(sorted, Shuffled(1000, 1, 1));
  std::sort(sorted.begin(), sorted.end());
  for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(sorted[i], i);
}

TEST(Shuffle, EveryOrderIsAboutEquallyLikely) {
  std::array<int, 6> counts{};
  for (uint32_t instance = 0; instance < 6000; ++instance) {
    const auto order = Shuffled(3, 5, instance);
    ++counts[2 * order[0] + (order[1] > order[2])];
  }
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);
}

TEST(Shuffle, UniformBelowCoversItsRange) {
  EXPECT_EQ(UniformBelow(10, 0, 0), 0u);
  EXPECT_EQ(UniformBelow(10, 0xFFFFFFFF, 0xFFFFFFFF), 9u);
}

}  // namespace
}  // namespace trainctl::data
