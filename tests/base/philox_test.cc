#include "common/base/philox.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace trainctl::base {
namespace {

using Words = std::array<uint32_t, 4>;

Words WordsOf(const PhiloxWords& words) { return std::to_array(words.word); }

// The known answers of Random123's kat_vectors (philox4x32, 10 rounds).
TEST(Philox, GivesThePublishedNumbers) {
  constexpr uint32_t kOnes = 0xFFFFFFFF;
  EXPECT_EQ(WordsOf(Philox({{0, 0, 0, 0}}, 0)),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(WordsOf(Philox({{kOnes, kOnes, kOnes, kOnes}}, ~uint64_t{0})),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(WordsOf(Philox({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0x299f31d0a4093822)),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, StreamsAndSeedsAreDifferentNumbers) {
  std::set<Words> seen;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}, uint64_t{1} << 32}) {
    for (const RandomStream stream :
         {RandomStream::kSplit, RandomStream::kEpochOrder, RandomStream::kDropout}) {
      EXPECT_TRUE(seen.insert(WordsOf(Philox(seed, stream, 7))).second);
    }
  }
}

}  // namespace
}  // namespace trainctl::base
