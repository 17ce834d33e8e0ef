// Use is a pure sum of what attempts had.
#include "server/core/fair_share.h"

#include <gtest/gtest.h>

#include "server/core/restore.h"

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

// The live job of ann's that ended at `ended`, as KeepUse wants it.
Job EndedAt(base::WallMicros placed, base::WallMicros ended) {
  Job job;
  job.row.id = {1};
  job.row.user = "ann";
  job.row.spec.devices = 1;
  LiveAttempt& attempt = job.attempt.emplace();
  attempt.row.placed_at = placed;
  attempt.row.ended_at = ended;
  attempt.ranks.resize(1);
  return job;
}

State SummedUpAt(base::WallMicros at) {
  State state;
  state.options.policy.half_life_us = kHour;
  state.shares.at = at;
  return state;
}

TEST(FairShare, WhatWasNeverCountedIsNotTakenBack) {
  State state = SummedUpAt(kNow);
  state.shares.use["ann"] = 1000;
  const base::WallMicros set_back = kNow - kHour;
  KeepUse(state, EndedAt(set_back, set_back + kHour / 60), {set_back + kHour / 60, 0});
  EXPECT_EQ(state.shares.use.at("ann"), 1000) << "the next Tick sums up";
  ASSERT_EQ(state.shares.ended.size(), 1u);
  KeepUse(state, EndedAt(set_back, set_back + kHour / 60), {kNow, 0});
  EXPECT_FALSE(state.shares.use.contains("ann")) << "no less than none, whatever the clock did";
}

TEST(FairShare, WhatEndedBeforeTheLastSumCountsNoMoreThanItHad) {
  State state = SummedUpAt(kNow);
  const base::WallMicros placed = kNow - kHour / 2, ended = kNow - kHour / 4;
  state.shares.use["ann"] = DecayedUse({"ann", 1, placed, kNow}, kNow, kHour);
  KeepUse(state, EndedAt(placed, ended), {kNow + 1, 0});
  EXPECT_EQ(state.shares.use.at("ann"), DecayedUse({"ann", 1, placed, ended}, kNow, kHour));
}

LeaseRow LeaseOfAnn(base::WallMicros start, base::WallMicros end) {
  LeaseRow lease{.id = 1, .name = "lab", .user = "ann", .workers = {"a/0", "a/1"}};
  lease.start = start;
  lease.end = end;
  return lease;
}

TEST(FairShare, ALeaseIsUsedUntilNowAndNoLongerThanItIs) {
  State state = SummedUpAt(kNow - kHour);
  state.leases[1].row = LeaseOfAnn(kNow - kHour / 2, kNow + kHour);
  RenewShares(state, {kNow, 0});
  EXPECT_EQ(state.shares.use.at("ann"),
            DecayedUse({"ann", 2, kNow - kHour / 2, kNow}, kNow, kHour));
  state.leases[1].row.end = kNow - kHour / 4;
  state.shares.at = 0;
  RenewShares(state, {kNow, 0});
  EXPECT_EQ(state.shares.use.at("ann"),
            DecayedUse({"ann", 2, kNow - kHour / 2, kNow - kHour / 4}, kNow, kHour));
}

TEST(FairShare, WhoStartsReadsAllUseThatCountsInTheLastSum) {
  const base::WallMicros now = 1'000'040'000'000, sum = 1'000'020'000'000;
  const UseRow oldest{"ann", 1000, sum - 11 * kHour, sum - 10 * kHour + 1'000'000};
  ASSERT_GT(DecayedUse(oldest, sum, kHour), 0);
  EXPECT_GE(oldest.to, UseCountsFrom(kHour, now));
  EXPECT_EQ(UseCountsFrom(kHour, now), sum - kHalfLives * kHour);
}

TEST(FairShare, ALeaseThatIsOverStillCounts) {
  State state = SummedUpAt(kNow - kHour);
  KeepUse(state, LeaseOfAnn(kNow - kHour / 2, kNow - kHour / 4));
  KeepUse(state, LeaseOfAnn(kNow + kHour, kNow));  // deleted before it began
  ASSERT_EQ(state.shares.ended.at("ann").size(), 1u);
  RenewShares(state, {kNow, 0});
  EXPECT_EQ(state.shares.use.at("ann"),
            DecayedUse({"ann", 2, kNow - kHour / 2, kNow - kHour / 4}, kNow, kHour));
}

}  // namespace
}  // namespace trainctl::core
