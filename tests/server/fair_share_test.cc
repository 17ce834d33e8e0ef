// Use is a pure sum of what attempts had.
#include "server/core/fair_share.h"

#include <gtest/gtest.h>

namespace trainctl::core {
namespace {

constexpr int64_t kHour = 3'600'000'000;
constexpr base::WallMicros kNow = 1000 * kHour;

TEST(FairShare, WhatWasUsedAHalfLifeAgoCountsHalf) {
  const int64_t now = DecayedUse({"ann", 2, kNow - kHour / 60, kNow}, kNow, kHour);
  const int64_t then = DecayedUse({"ann", 2, kNow - kHour - kHour / 60, kNow - kHour}, kNow, kHour);
  EXPECT_NEAR(static_cast<double>(now), 120'000, 1000) << "two devices for a minute";
  EXPECT_NEAR(static_cast<double>(now) / static_cast<double>(then), 2, 1e-3);
}

TEST(FairShare, AllTheTimeThereEverWasCountsAsALifeOverLn2) {
  const int64_t use = DecayedUse({"ann", 1, 0, kNow}, kNow, kHour);
  EXPECT_NEAR(static_cast<double>(use), 3'600'000 / 0.693147, 6000) << "less a part in 1024";
}

TEST(FairShare, WhatIsToComeOrLongAgoCountsForNothing) {
  EXPECT_EQ(DecayedUse({"ann", 4, kNow, kNow + kHour}, kNow, kHour), 0);
  EXPECT_EQ(DecayedUse({"ann", 4, 0, kNow - kHalfLives * kHour}, kNow, kHour), 0);
  EXPECT_EQ(DecayedUse({"ann", 4, kNow - kHour, kNow - 2 * kHour}, kNow, kHour), 0)
      << "the clock was set back";
  EXPECT_EQ(DecayedUse({"ann", 1, kNow - kHour, kNow + kHour}, kNow, kHour),
            DecayedUse({"ann", 1, kNow - kHour, kNow}, kNow, kHour));
}

}  // namespace
}  // namespace trainctl::core
