#include "server/auth/call_rate.h"

#include <gtest/gtest.h>

namespace trainctl::auth {
namespace {

class CallRateTest : public testing::Test {
 protected:
  // How many of so many calls at once are taken.
  int Taken(const std::string& user, int calls) {
    int taken = 0;
    for (int call = 0; call < calls; ++call) taken += !rate_.Take(user);
    return taken;
  }

  base::FakeClock clock_;
  RateBound bound_{.per_second = 10, .burst = 3};
  CallRate rate_{clock_,
                 [this](const std::string& user) { return user == "ops" ? RateBound{} : bound_; }};
};

TEST_F(CallRateTest, ABurstIsTakenAndThenWhatTheRateLetsThrough) {
  EXPECT_EQ(Taken("anna", 5), 3);
  clock_.Advance(99'999);
  EXPECT_EQ(Taken("anna", 1), 0);
  clock_.Advance(1);
  EXPECT_EQ(Taken("anna", 2), 1);
  clock_.Advance(200'000);
  EXPECT_EQ(Taken("anna", 5), 2);
}

TEST_F(CallRateTest, ABucketHoldsNoMoreThanItsBurst) {
  clock_.Advance(int64_t{3600} * 1'000'000);
  EXPECT_EQ(Taken("anna", 100), 3);
}

TEST_F(CallRateTest, ARefusalSaysTheBoundAndTheWait) {
  Taken("anna", 3);
  clock_.Advance(30'000);
  const auto refusal = rate_.Take("anna");
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->error.code, base::Code::kExhausted);
  EXPECT_EQ(refusal->error.message,
            "anna calls too often: 10 calls a second are taken, 3 at once (max_calls_per_second "
            "and max_call_burst of the site's policy); try again in 70 ms");
  EXPECT_EQ(refusal->wait_ms, 70);
  clock_.Advance(70'000);
  EXPECT_FALSE(rate_.Take("anna"));
}

TEST_F(CallRateTest, UsersDoNotTakeEachOthersCalls) {
  EXPECT_EQ(Taken("anna", 5), 3);
  EXPECT_EQ(Taken("bob", 5), 3);
  EXPECT_EQ(Taken("ops", 5), 5) << "who has no bound";
  EXPECT_EQ(rate_.refused(), 4);
}

TEST_F(CallRateTest, UsersBeyondTheTableShareABucketUntilOthersAreFull) {
  for (size_t user = 0; user < CallRate::kMostUsers; ++user) Taken(std::to_string(user), 3);
  EXPECT_EQ(Taken("anna", 2) + Taken("bob", 2), 3);
  EXPECT_EQ(Taken("7", 1), 0) << "whoever is known keeps a bucket";
  clock_.Advance(1'000'000);
  EXPECT_EQ(Taken("anna", 5), 3);
  EXPECT_EQ(Taken("bob", 5), 3);
}

TEST_F(CallRateTest, ARateThatIsFinerThanTheClockIsKept) {
  bound_ = {.per_second = 1'000'000, .burst = 1};
  EXPECT_EQ(Taken("anna", 5), 1);
  clock_.Advance(1);
  EXPECT_EQ(Taken("anna", 5), 1);
}

}  // namespace
}  // namespace trainctl::auth
