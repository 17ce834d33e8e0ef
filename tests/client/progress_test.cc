#include "client/submit/progress.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/client/fake_coordinator.h"

namespace trainctl::client {
namespace {

class ProgressTest : public testing::Test {
 protected:
  v1::JobView Starting(const std::string& reason) const {
    v1::JobView job;
    job.set_id("j1");
    job.set_name("tiny");
    job.set_state("STARTING");
    job.set_attempt(1);
    job.set_reason(reason);
    return job;
  }

  v1::JobView AtStep(int64_t step) const {
    v1::JobView job = RunningJob("j1", "tiny");
    job.set_step(step);
    return job;
  }

  std::ostringstream out_;
  base::FakeClock clock_;
};

TEST_F(ProgressTest, WithoutATerminalEachPhaseIsALineAndBytesInBetweenAreNot) {
  Progress progress(&out_, {}, &clock_);
  progress.Update(Starting("placed"));
  progress.Update(Starting("loading 0.10 of 13.50 GiB"));
  progress.Update(Starting("loading 0.20 of 13.50 GiB"));
  progress.Update(Starting("joining"));
  EXPECT_EQ(out_.str(),
            "tiny (j1): starting: placed\n"
            "tiny (j1): starting: loading 0.10 of 13.50 GiB\n"
            "tiny (j1): starting: joining\n");
}

TEST_F(ProgressTest, WithoutATerminalTheFirstStepIsToldAndThenOneLineEveryTenSeconds) {
  Progress progress(&out_, {}, &clock_);
  progress.Update(AtStep(0));
  progress.Update(AtStep(1));
  progress.Update(AtStep(2));
  clock_.Advance(10'000'000);
  progress.Update(AtStep(30));
  EXPECT_EQ(out_.str(),
            "tiny (j1): running\n"
            "tiny (j1): step 1/62  loss 2.346  12,346 tokens/s  peak 9.00 GiB  0:50, 0:49 left\n"
            "tiny (j1): step 30/62  loss 2.346  12,346 tokens/s  peak 9.00 GiB  1:00, 0:49 left\n");
}

TEST_F(ProgressTest, TheEndIsToldOnceWithItsReason) {
  Progress progress(&out_, {}, &clock_);
  v1::JobView job = FinishedJob("j1", "tiny", "FAILED");
  job.set_message("rank 1 was ended by signal 9");
  progress.Update(job);
  progress.Update(job);
  EXPECT_EQ(out_.str(),
            "tiny (j1): FAILED after 0:50, step 62/62  loss 2.346  12,346 tokens/s  peak 9.00 "
            "GiB\n  rank 1 was ended by signal 9\n");
}

TEST_F(ProgressTest, OnATerminalABarIsRedrawnInPlaceWithinTheWidth) {
  Progress progress(&out_, {.interactive = true, .layout = {.width = 95}}, &clock_);
  progress.Update(AtStep(31));
  progress.Update(AtStep(62));
  EXPECT_EQ(
      out_.str(),
      "\xff\rtiny (j1) [=======>       ] 31/62  loss 2.346  12,346 tokens/s  peak 9.00 GiB  "
      "0:50, 0:49 left\n"
      "\xff[1A\xff[2K\xff\rtiny (j1) [===============] 62/62  loss 2.346  12,346 tokens/s  peak "
      "9.00 GiB  0:50, 0:49 left\n");
}

TEST_F(ProgressTest, ANarrowTerminalLosesTheBarAndThenTheEndOfTheLine) {
  Progress progress(&out_, {.interactive = true, .layout = {.width = 40}}, &clock_);
  progress.Update(AtStep(31));
  EXPECT_EQ(out_.str(), "\xff\rtiny (j1)  31/62  loss 2.346  12,346 t…\n");
}

TEST_F(ProgressTest, OnATerminalAnEndedJobLeavesItsLineAboveTheOthersBars) {
  Progress progress(&out_, {.interactive = true, .layout = {.width = 60}}, &clock_);
  progress.Update(Starting("joining"));
  out_.str("");
  progress.Update(FinishedJob("j2", "other", "SUCCEEDED"));
  EXPECT_EQ(out_.str(),
            "\xff[1A\xff[2K\xff\rother (j2): SUCCEEDED after 0:50, step 62/62  loss 2.346  12,346 "
            "tokens/s  peak 9.00 GiB\n"
            "tiny (j1)  starting  joining\n");
}

}  // namespace
}  // namespace trainctl::client
