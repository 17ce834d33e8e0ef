#include "worker/rank/comm/rank_order_sum.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace trainctl::comm {
namespace {

template <class T>
std::vector<T> SumOf(const std::vector<std::vector<T>>& contributions, Element element) {
  std::vector<const std::byte*> pointers;
  for (const auto& contribution : contributions) {
    pointers.push_back(reinterpret_cast<const std::byte*>(contribution.data()));
  }
  std::vector<T> sum(contributions[0].size());
  SumInRankOrder(reinterpret_cast<std::byte*>(sum.data()), pointers, sum.size(), element);
  return sum;
}

uint16_t Bf16(float value) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16); }
float Float(uint16_t bf16) { return std::bit_cast<float>(static_cast<uint32_t>(bf16) << 16); }

TEST(RankOrderSum, AddsInTheOrderOfTheRanks) {
  EXPECT_EQ(SumOf<float>({{1e8f}, {1.0f}, {-1e8f}}, Element::kF32), std::vector<float>{0.0f});
  EXPECT_EQ(SumOf<float>({{1e8f}, {-1e8f}, {1.0f}}, Element::kF32), std::vector<float>{1.0f});
  EXPECT_EQ(SumOf<double>({{1e16}, {1.0}, {-1e16}}, Element::kF64), std::vector<double>{0.0});
}

TEST(RankOrderSum, RoundsBf16OnceAtTheEnd) {
  // Rounded after each addition, 256 + 1 would stay 256 twice.
  EXPECT_EQ(Float(SumOf<uint16_t>({{Bf16(256)}, {Bf16(1)}, {Bf16(1)}}, Element::kBf16)[0]), 258.0f);
}

TEST(RankOrderSum, RoundsBf16TiesToEven) {
  EXPECT_EQ(Float(SumOf<uint16_t>({{Bf16(256)}, {Bf16(1)}}, Element::kBf16)[0]), 256.0f);
  EXPECT_EQ(Float(SumOf<uint16_t>({{Bf16(258)}, {Bf16(1)}}, Element::kBf16)[0]), 260.0f);
}

TEST(RankOrderSum, KeepsNanAndInfinityInBf16) {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto sum = SumOf<uint16_t>({{Bf16(infinity), Bf16(infinity)}, {Bf16(-infinity), Bf16(1)}},
                                   Element::kBf16);
  EXPECT_TRUE(std::isnan(Float(sum[0])));
  EXPECT_EQ(Float(sum[1]), infinity);
}

TEST(RankOrderSum, WrapsInt64) {
  const int64_t largest = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(SumOf<int64_t>({{largest, 5}, {1, -7}}, Element::kI64),
            (std::vector<int64_t>{std::numeric_limits<int64_t>::min(), -2}));
}

TEST(RankOrderSum, MayWriteOverAContribution) {
  std::vector<float> a(5000, 1.5f);
  std::vector<float> b(5000, 2.0f);
  const std::vector<const std::byte*> pointers = {reinterpret_cast<std::byte*>(a.data()),
                                                  reinterpret_cast<std::byte*>(b.data())};
  SumInRankOrder(reinterpret_cast<std::byte*>(b.data()), pointers, b.size(), Element::kF32);
  EXPECT_EQ(b, std::vector<float>(5000, 3.5f));
}

}  // namespace
}  // namespace trainctl::comm
