#include "worker/shim/rank_deadline.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <string>
#include <vector>

#include "common/base/file.h"
#include "tests/shim/shim_under_test.h"
#include "tests/shim/temp_folder.h"

namespace trainctl::tests {
namespace {

constexpr int64_t kSecond = 1'000'000;

std::string DeadlineAt(base::SteadyMicros at, int64_t grace_us = 20 * kSecond) {
  return "{\"at\":1,\"grace_us\":" + std::to_string(grace_us) +
         ",\"message\":\"\\\"steady_at\\\":0\",\"steady_at\":" + std::to_string(at) + "}\n";
}

// Of no use, cut, or out of range.
std::vector<std::string> Damaged() {
  return {"",
          "[]",
          R"({"steady_at":"soon"})",
          R"({"steady_at":1e300,"grace_us":1})",
          R"({"steady_at":-1e300,"grace_us":1})",
          R"({"steady_at":nan,"grace_us":1})",
          R"({"steady_at":1,"grace_us":1e300})",
          R"({"at":1,"grace_us":20000000,"message":"the ti)",
          R"({"grace_us":20000000,"steady_at":1)"};
}

class RankDeadlineTest : public testing::Test {
 protected:
  void Write(const std::string& text) {
    ASSERT_TRUE(base::WriteFileAtomically(folder_.path() + "/deadline.json", text));
  }
  void WriteIn(int64_t seconds) { Write(DeadlineAt(clock_.Steady() + seconds * kSecond)); }

  TempFolder folder_;
  base::FakeClock clock_;
  shim::RankDeadline deadline_{folder_.path(), clock_};
};

TEST_F(RankDeadlineTest, ComesAtItsTimeWithItsGrace) {
  WriteIn(3);
  EXPECT_FALSE(deadline_.Come(false));
  EXPECT_EQ(deadline_.WaitMs(false), 3001);
  clock_.Advance(3 * kSecond);
  EXPECT_EQ(deadline_.Come(false), 20.0);
}

TEST_F(RankDeadlineTest, AWorkerThatIsThereGoesFirst) {
  WriteIn(3);
  EXPECT_FALSE(deadline_.Come(true));
  clock_.Advance(3 * kSecond + shim::RankDeadline::kWorkerGoesFirstMicros - 1);
  EXPECT_FALSE(deadline_.Come(true));
  EXPECT_TRUE(deadline_.Come(false));
  clock_.Advance(1);
  EXPECT_TRUE(deadline_.Come(true));
}

TEST_F(RankDeadlineTest, AnotherOneIsSeenInTime) {
  WriteIn(3600);
  EXPECT_FALSE(deadline_.Come(false));
  WriteIn(1);
  clock_.Advance(shim::RankDeadline::kLookMicros);
  EXPECT_LE(deadline_.WaitMs(false), 1);
  EXPECT_TRUE(deadline_.Come(false));
}

TEST_F(RankDeadlineTest, TheLastWordOfAWorkerThatLeavesIsSeenAtOnce) {
  WriteIn(3600);
  EXPECT_FALSE(deadline_.Come(true));
  WriteIn(0);
  EXPECT_FALSE(deadline_.Come(true));
  EXPECT_TRUE(deadline_.Come(false));
}

TEST_F(RankDeadlineTest, OneThatWasPutOffOrTakenBackDoesNotCome) {
  WriteIn(1);
  EXPECT_FALSE(deadline_.Come(false));
  WriteIn(3600);
  clock_.Advance(kSecond);
  EXPECT_FALSE(deadline_.Come(false));
  WriteIn(1);
  clock_.Advance(shim::RankDeadline::kLookMicros - kSecond);
  std::filesystem::remove(folder_.path() + "/deadline.json");
  EXPECT_FALSE(deadline_.Come(false));
}

TEST_F(RankDeadlineTest, WhatIsNoDeadlineIsNone) {
  for (const std::string& text : Damaged()) {
    Write(text);
    clock_.Advance(shim::RankDeadline::kLookMicros);
    EXPECT_FALSE(deadline_.Come(false)) << text;
  }
}

TEST_F(RankDeadlineTest, ADamagedFileNeitherMovesADeadlineNorTakesItAway) {
  for (const std::string& text : Damaged()) {
    WriteIn(60);
    clock_.Advance(shim::RankDeadline::kLookMicros);
    EXPECT_FALSE(deadline_.Come(false)) << text;
    Write(text);
    clock_.Advance(60 * kSecond - shim::RankDeadline::kLookMicros - 1);
    EXPECT_FALSE(deadline_.Come(false)) << text;
    clock_.Advance(1);
    EXPECT_EQ(deadline_.Come(false), 20.0) << text;
  }
}

// Real processes, real signals.
base::SteadyMicros SteadyNow() { return base::SystemClock().Steady(); }

TEST(ShimDeadline, ARankWithoutAWorkerIsAskedToEndAndItsRecordSaysWhy) {
  ShimUnderTest shim("wait", {.deadline = DeadlineAt(SteadyNow() + 200'000)});
  EXPECT_EQ(shim.Wait(), 0);
  EXPECT_EQ(shim.Exit()["signal"], SIGTERM);
  EXPECT_EQ(shim.Exit()["deadline_came"], true);
}

TEST(ShimDeadline, ARankThatDoesNotWantToIsKilledAfterTheGrace) {
  ShimUnderTest shim("ignore-term; message {\"type\":\"started\"}; wait");
  base::Descriptor worker = shim.Connect();
  ShimUnderTest::AwaitMessages(worker, 1);
  ASSERT_TRUE(
      base::WriteFileAtomically(shim.folder() + "/deadline.json", DeadlineAt(SteadyNow(), 50'000)));
  worker.Close();
  EXPECT_EQ(shim.Wait(), 0);
  EXPECT_EQ(shim.Exit()["signal"], SIGKILL);
  EXPECT_EQ(shim.Exit()["deadline_came"], true);
}

TEST(ShimDeadline, WhatAWorkerEndedBeforeIsNotOfTheDeadline) {
  ShimUnderTest shim("wait", {.deadline = DeadlineAt(SteadyNow() + 3600 * kSecond)});
  const base::Descriptor worker = shim.Connect();
  ShimUnderTest::Send(worker, R"({"type":"terminate","grace_seconds":30})");
  EXPECT_EQ(shim.Wait(), 0);
  EXPECT_EQ(shim.Exit()["signal"], SIGTERM);
  EXPECT_FALSE(shim.Exit().contains("deadline_came"));
}

}  // namespace
}  // namespace trainctl::tests
