#include "worker/agent/kept_deadline.h"

#include <gtest/gtest.h>

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
  for (const std::string text : {"", "[]", "{", "null"}) {
    ASSERT_TRUE(base::WriteFileAtomically(folder_.path() + "/deadline.json", text));
    KeptDeadline next(folder_.path(), clock_);
    next.Read();
    EXPECT_FALSE(next.Come()) << text;
  }
}

}  // namespace
}  // namespace trainctl::agent
