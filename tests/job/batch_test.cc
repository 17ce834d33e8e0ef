#include "common/job/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

using testing::HasSubstr;

JobSpec Job(int64_t micro, int64_t devices) {
  JobSpec job = SmallestJob();
  job.train.micro_batch_size = micro;
  job.devices = devices;
  return job;
}

TEST(PlanBatch, GivesTheAccumulationOfAGlobalBatch) {
  JobSpec job = Job(8, 2);
  job.train.global_batch_size = 64;
  const auto plan = PlanBatch(job);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->micro, 8);
  EXPECT_EQ(plan->devices, 2);
  EXPECT_EQ(plan->accumulation, 4);
  EXPECT_EQ(plan->global, 64);
}

TEST(PlanBatch, GivesTheGlobalBatchOfAnAccumulation) {
  JobSpec job = Job(4, 4);
  job.train.accumulate_grad_batches = 4;
  EXPECT_EQ(PlanBatch(job)->global, 64);
}

TEST(PlanBatch, DoesNotAccumulateUnlessAsked) {
  EXPECT_EQ(PlanBatch(Job(4, 4))->global, 16);
  EXPECT_EQ(PlanBatch(Job(4, 4))->accumulation, 1);
}

TEST(PlanBatch, NamesTheNearestThatWork) {
  JobSpec job = Job(8, 2);
  job.train.global_batch_size = 30;
  const auto plan = PlanBatch(job);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, base::Code::kInvalid);
  EXPECT_THAT(plan.error().message, HasSubstr("8 × 2 = 16"));
  EXPECT_THAT(plan.error().message, HasSubstr("16 or 32"));
}

TEST(PlanBatch, NeverSuggestsAnEmptyBatch) {
  JobSpec job = Job(8, 1);
  job.train.global_batch_size = 5;
  EXPECT_THAT(PlanBatch(job).error().message, testing::EndsWith("works is 8"));
}

TEST(PlanBatch, RefusesNumbersBelowOne) {
  EXPECT_FALSE(PlanBatch(Job(0, 1)).ok());
  EXPECT_FALSE(PlanBatch(Job(1, 0)).ok());
}

TEST(SplitRows, TakesTheFloorForValidation) {
  EXPECT_EQ(SplitRows({.val_split_fraction = 0.05}, 2000).val_rows, 100);
  EXPECT_EQ(SplitRows({.val_split_fraction = 0.05}, 2000).train_rows, 1900);
  EXPECT_EQ(SplitRows({.val_split_fraction = 0.5}, 7).val_rows, 3);
  EXPECT_EQ(SplitRows({.val_split_fraction = 0.5}, 7).train_rows, 4);
}

TEST(SplitRows, MultipliesInDoublePrecisionAsTorchDoes) {
  EXPECT_EQ(SplitRows({.val_split_fraction = 0.29}, 100).val_rows, 28);
}

TEST(SplitRows, SplitsWhatMaxRowsLeaves) {
  const Split split = SplitRows({.max_rows = 10, .val_split_fraction = 0.2}, 1000);
  EXPECT_EQ(split.train_rows, 8);
  EXPECT_EQ(split.val_rows, 2);
}

TEST(TotalSteps, IsTheFloorOfAnEpochTimesEpochs) {
  JobSpec job = Job(8, 1);
  job.train.epochs = 3;
  EXPECT_EQ(TotalSteps(job, *PlanBatch(job), 1001), 375);
  EXPECT_EQ(StepsPerEpoch(*PlanBatch(job), 1001), 125);
}

TEST(TotalSteps, EndsAtTheSmallerOfEpochsAndMaxSteps) {
  JobSpec job = Job(8, 1);
  job.train.max_steps = 100;
  EXPECT_EQ(TotalSteps(job, *PlanBatch(job), 1000), 100);
  job.train.max_steps = 1000;
  EXPECT_EQ(TotalSteps(job, *PlanBatch(job), 1000), 125);
}

TEST(WarmupSteps, AreGivenOrTheCeilingOfTheFraction) {
  EXPECT_EQ(WarmupSteps({}, 50), 0);
  EXPECT_EQ(WarmupSteps({.lr_warmup_steps = 100}, 50), 100);
  EXPECT_EQ(WarmupSteps({.lr_warmup_fraction = 0.1}, 25), 3);
}

class LearningRateOf : public testing::Test {
 protected:
  double At(int64_t step, int64_t total) const {
    return LearningRate(job_, *PlanBatch(job_), step, total);
  }
  JobSpec WithWarmup() const {
    JobSpec job = SmallestJob();
    job.optimizer.lr = 1;
    job.train.lr_warmup_steps = 10;
    return job;
  }
  JobSpec job_ = WithWarmup();
};

TEST_F(LearningRateOf, TheFirstStepIsOneWarmupStepHigh) { EXPECT_DOUBLE_EQ(At(0, 30), 0.1); }

TEST_F(LearningRateOf, TheLastWarmupStepHasThePeak) { EXPECT_DOUBLE_EQ(At(9, 30), 1); }

TEST_F(LearningRateOf, CosineStartsAtThePeakAndIsHalfInTheMiddle) {
  EXPECT_DOUBLE_EQ(At(10, 30), 1);
  EXPECT_DOUBLE_EQ(At(20, 30), 0.5);
  EXPECT_NEAR(At(29, 30), 0.006155829702431115,
              1e-15);  // torch CosineAnnealingLR(T_max=20) after 19 steps
}

TEST_F(LearningRateOf, LinearFallsByEqualSteps) {
  job_.train.lr_schedule = LrSchedule::kLinear;
  EXPECT_DOUBLE_EQ(At(15, 30), 0.75);
  EXPECT_NEAR(At(29, 30), 0.05, 1e-15);
}

TEST_F(LearningRateOf, ConstantStaysAtThePeak) {
  job_.train.lr_schedule = LrSchedule::kConstant;
  EXPECT_DOUBLE_EQ(At(29, 30), 1);
}

TEST_F(LearningRateOf, StaysOnTheRampWhereTheWarmupOutlastsTheRun) {
  job_.train.lr_warmup_steps = 100;
  EXPECT_DOUBLE_EQ(At(29, 30), 0.3);
}

TEST_F(LearningRateOf, LinearScalingMultipliesByTheDevices) {
  job_.optimizer.lr_scaling = LrScaling::kLinear;
  job_.devices = 4;
  job_.train.accumulate_grad_batches = 8;
  EXPECT_DOUBLE_EQ(At(9, 30), 4);
}

}  // namespace
}  // namespace trainctl::job
