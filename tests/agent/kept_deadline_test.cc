#include "worker/agent/kept_deadline.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "common/base/file.h"
#include "tests/shim/temp_folder.h"

namespace trainctl::agent {
namespace {

constexpr int64_t kSecond = 1'000'000;

job::Deadline In(int64_t seconds) {
  return {seconds * kSecond, 20 * kSecond, job::Outcome::kTimeout, "the time limit is over"};
}

// Somebody sets its wall time.
class JumpingClock : public base::Clock {
 public:
  base::WallMicros Wall() const override { return steady_ + ahead_; }
  base::SteadyMicros Steady() const override { return steady_; }
  void Advance(int64_t micros) { steady_ += micros; }
  void Jump(int64_t micros) { ahead_ += micros; }

 private:
  base::SteadyMicros steady_ = kSecond;
  int64_t ahead_ = 1'000'000 * kSecond;
};

class KeptDeadlineTest : public testing::Test {
 protected:
  tests::TempFolder folder_;
  base::FakeClock clock_;
  KeptDeadline deadline_{folder_.path(), clock_};
};

TEST_F(KeptDeadlineTest, ComesOnceAtItsTime) {
  deadline_.Set(In(60));
  clock_.Advance(60 * kSecond - 1);
  EXPECT_FALSE(deadline_.Come());
  EXPECT_FALSE(deadline_.Passed());
  clock_.Advance(1);
  EXPECT_EQ(deadline_.Come(), In(60));
  EXPECT_FALSE(deadline_.Come());
  EXPECT_EQ(deadline_.Passed(), In(60));
}

TEST_F(KeptDeadlineTest, TheLastOneToldHolds) {
  deadline_.Set(In(60));
  clock_.Advance(50 * kSecond);
  deadline_.Set(In(600));
  clock_.Advance(599 * kSecond);
  EXPECT_FALSE(deadline_.Come());
  deadline_.Set(std::nullopt);
  clock_.Advance(kSecond);
  EXPECT_FALSE(deadline_.Come());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(KeptDeadlineTest, TheNextWorkerKeepsIt) {
  deadline_.Set(In(60));
  clock_.Advance(59 * kSecond);
  KeptDeadline next(folder_.path(), clock_);
  next.Read();
  EXPECT_FALSE(next.Come());
  clock_.Advance(kSecond);
  EXPECT_EQ(next.Come()->message, In(60).message);
}

TEST_F(KeptDeadlineTest, AJumpOfTheClockBetweenWorkersMovesNothing) {
  JumpingClock clock;
  KeptDeadline(folder_.path(), clock).Set(In(60));
  clock.Jump(3600 * kSecond);
  KeptDeadline next(folder_.path(), clock);
  next.Read();
  EXPECT_FALSE(next.Come());
  clock.Advance(60 * kSecond);
  EXPECT_TRUE(next.Come());
}

TEST_F(KeptDeadlineTest, WhatItsShimStoppedHasPassed) {
  deadline_.Set(In(60));
  KeptDeadline next(folder_.path(), clock_);
  next.Read();
  next.HasCome();
  EXPECT_EQ(next.Passed(), In(0));
  EXPECT_FALSE(next.Come());
}

// Its stop may not have come to the shim.
TEST_F(KeptDeadlineTest, TheNextWorkerStopsAgainAndKnowsWhy) {
  deadline_.Set(In(60));
  clock_.Advance(60 * kSecond);
  ASSERT_TRUE(deadline_.Come());
  KeptDeadline next(folder_.path(), clock_);
  next.Read();
  EXPECT_EQ(next.Passed()->outcome, job::Outcome::kTimeout);
  EXPECT_EQ(next.Come()->grace_us, In(60).grace_us);
}

TEST_F(KeptDeadlineTest, OneThatHasComeStays) {
  deadline_.Set(In(1));
  clock_.Advance(kSecond);
  ASSERT_TRUE(deadline_.Come());
  deadline_.Set(In(600));
  EXPECT_EQ(deadline_.Passed(), In(1));
}

TEST_F(KeptDeadlineTest, ADamagedFileIsNoDeadline) {
  for (const std::string text :
       {"", "[]", "{", "null", "{\"steady_at\":1e300,\"grace_us\":1}",
        "{\"steady_at\":-1,\"grace_us\":1}", "{\"at\":1,\"grace_us\":1e300}",
        "{\"grace_us\":1,\"steady_at\":1"}) {
    ASSERT_TRUE(base::WriteFileAtomically(folder_.path() + "/deadline.json", text));
    KeptDeadline next(folder_.path(), clock_);
    next.Read();
    EXPECT_FALSE(next.Come()) << text;
    next.HasCome();  // by what its shim had read before
    EXPECT_THAT(next.Passed()->message, testing::HasSubstr("is damaged")) << text;
  }
}

TEST_F(KeptDeadlineTest, WhatIsNoFileIsNotWaitedFor) {
  ASSERT_EQ(::mkfifo((folder_.path() + "/deadline.json").c_str(), 0600), 0);
  deadline_.Read();
  EXPECT_FALSE(deadline_.Come());
  deadline_.Set(In(60));
  KeptDeadline next(folder_.path(), clock_);
  next.Read();
  clock_.Advance(60 * kSecond);
  EXPECT_TRUE(next.Come());
}

}  // namespace
}  // namespace trainctl::agent
