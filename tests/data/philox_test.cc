#include "worker/data/philox.h"

#include <gtest/gtest.h>

#include <set>

namespace trainctl::data {
namespace {

// The known answers of Random123's kat_vectors (philox4x32, 10 rounds).
TEST(Philox, GivesThePublishedNumbers) {
  constexpr uint32_t kOnes = 0xFFFFFFFF;
  EXPECT_EQ(Philox(PhiloxCounter{0, 0, 0, 0}, PhiloxKey{0, 0}), (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox(PhiloxCounter{kOnes, kOnes, kOnes, kOnes}, PhiloxKey{kOnes, kOnes}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox(PhiloxCounter{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, PhiloxKey{0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, StreamsAndSeedsAreDifferentNumbers) {
  std::set<std::array<uint32_t, 4>> seen;
  for (const int64_t seed : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{1} << 32}) {
    for (const auto stream : {RandomStream::kSplit, RandomStream::kEpochOrder, RandomStream::kInitialWeights, RandomStream::kDropout}) {
      EXPECT_TRUE(seen.insert(Philox(seed, stream, 7)).second);
    }
  }
}

TEST(Philox, UniformFloatsAreBelowOne) {
  EXPECT_EQ(UniformFloat(0), 0.0f);
  EXPECT_LT(UniformFloat(0xFFFFFFFF), 1.0f);
  EXPECT_EQ(UniformFloat(0x80000000), 0.5f);
}

}  // namespace
}  // namespace trainctl::data
