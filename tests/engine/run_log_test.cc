#include "worker/rank/process/run_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace trainctl::train {
namespace {

constexpr base::SteadyMicros kSecond = 1'000'000;

LoggedStep Step(int64_t steps_done) {
  return {.steps_done = steps_done,
          .steps = 9,
          .loss = 2.5,
          .tokens_per_second = 51.06,
          .lr = 1e-5,
          .peak_allocated_bytes = 3LL << 29};
}

TEST(RunLog, TellsAStepWithItsLossSpeedMemoryAndLearningRate) {
  RunLog log(/*begin=*/5 * kSecond);
  log.Phase(job::RunPhase::kTraining, 5 * kSecond);
  log.Stepped(Step(1), 17 * kSecond);
  EXPECT_EQ(log.Take(17 * kSecond, false),
            "     0.0 s  training\n"
            "    12.0 s  step 1/9  loss 2.5  51.1 tokens/s  peak 1.50 GiB  lr 1e-05\n");
}

TEST(RunLog, TellsThousandsAsAllElseDoes) {
  const auto rate_of = [](double rate) {
    RunLog log(0);
    LoggedStep step = Step(1);
    step.tokens_per_second = rate;
    log.Stepped(step, 0);
    const std::string told = log.Take(0, true);
    const size_t end = told.find(" tokens/s"), begin = told.rfind("  ", end) + 2;
    return told.substr(begin, end - begin);
  };
  EXPECT_EQ(rate_of(99.94), "99.9");
  EXPECT_EQ(rate_of(999), "999");
  EXPECT_EQ(rate_of(6099.3), "6,099");
  EXPECT_EQ(rate_of(1234567), "1,234,567");
}

TEST(RunLog, TellsOneStepASecondTheLatestAndTheLastOneInAnyCase) {
  RunLog log(0);
  std::string told;
  for (int64_t step = 1; step <= 9; ++step) {  // four steps a second, taken as often
    log.Stepped(Step(step), step * kSecond / 4);
    told += log.Take(step * kSecond / 4, /*all=*/false);
  }
  EXPECT_NE(told.find("step 1/9"), std::string::npos);
  EXPECT_NE(told.find("step 5/9"), std::string::npos);
  EXPECT_NE(told.find("step 9/9"), std::string::npos);
  EXPECT_EQ(std::ranges::count(told, '\n'), 3);
  log.Stepped(Step(9), 9 * kSecond / 4 + 1);
  EXPECT_EQ(log.Take(9 * kSecond / 4 + 1, false), "");
  EXPECT_NE(log.Take(9 * kSecond / 4 + 2, /*all=*/true).find("step 9/9"), std::string::npos);
  EXPECT_EQ(log.Take(9 * kSecond, true), "");
}

TEST(RunLog, TellsAPhaseWhenItBeginsFirstAndBehindTheStepBeforeIt) {
  RunLog log(0);
  log.Stepped(Step(3), 0);
  EXPECT_NE(log.Take(0, false), "");
  log.Stepped(Step(4), kSecond / 2);
  log.Phase(job::RunPhase::kEvaluating, kSecond / 2);
  log.Phase(job::RunPhase::kEvaluating, kSecond / 2);
  const std::string told = log.Take(kSecond / 2, false);
  EXPECT_LT(told.find("step 4/9"), told.find("evaluating"));
  EXPECT_EQ(told.find("evaluating"), told.rfind("evaluating"));
}

TEST(RunLog, TellsEvaluationsAndWhatWasSaved) {
  RunLog log(0);
  log.Evaluated({.steps_done = 9, .steps = 9, .val_loss = 2.25, .seconds = 3.78}, kSecond);
  log.Saved("final", "/out/run", 1LL << 30, 2 * kSecond);
  EXPECT_EQ(log.Take(2 * kSecond, false),
            "     1.0 s  step 9/9  validation loss 2.25  evaluated in 3.8 s\n"
            "     2.0 s  saved final, 1.00 GiB: /out/run\n");
}

TEST(RunLog, SaysWhereAStepHasNoLossOrTheLossIsNoNumber) {
  RunLog log(0);
  LoggedStep step = Step(1);
  step.loss = std::nullopt;
  log.Stepped(step, 0);
  EXPECT_NE(log.Take(0, true).find("step 1/9  no loss  51.1"), std::string::npos);
  step.loss = std::numeric_limits<double>::quiet_NaN();
  log.Stepped(step, 0);
  EXPECT_NE(log.Take(0, true).find("loss nan"), std::string::npos);
}

}  // namespace
}  // namespace trainctl::train
