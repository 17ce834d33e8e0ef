#include "common/job/run_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

JobSpec Job() {
  JobSpec job = SmallestJob();
  job.devices = 2;
  job.train.micro_batch_size = 4;
  job.train.global_batch_size = 16;
  job.data.val_split_fraction = 0.05;
  return job;
}

TEST(PlanRun, CountsFromFileToSteps) {
  JobSpec job = Job();
  job.train.epochs = 2;
  job.train.lr_warmup_fraction = 0.1;
  const auto plan = PlanRun(job, {2000});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->job.strategy, StrategyKind::kDdp);
  EXPECT_EQ(plan->batch.accumulation, 2);
  EXPECT_EQ(plan->split.train_rows, 1900);
  EXPECT_EQ(plan->split.val_rows, 100);
  EXPECT_EQ(plan->steps_per_epoch, 118);
  EXPECT_EQ(plan->total_steps, 236);
  EXPECT_EQ(plan->warmup_steps, 24);
}

TEST(PlanRun, NotesRowsThatFillNoBatch) {
  EXPECT_THAT(PlanRun(Job(), {2000})->notes, Contains(HasSubstr("12 rows an epoch are left over")));
  JobSpec one = Job();
  one.data.val_split_fraction = 0;
  EXPECT_THAT(PlanRun(one, {17})->notes,
              Contains(HasSubstr("1 row an epoch is left over: it fills")));
}

TEST(PlanRun, TellsNoRestOfRowsThatAreReckonedFromASample) {
  const auto plan = PlanRun(Job(), {.rows = 2000, .is_estimate = true});
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(plan->notes, Not(Contains(HasSubstr("left over"))));
}

TEST(PlanRun, CountsPackedSequencesWhereRowsArePacked) {
  JobSpec job = Job();
  EXPECT_EQ(PlanRun(job, {2000, 500})->steps_per_epoch, 118);
  job.train.packing = true;
  const auto plan = PlanRun(job, {2000, 500});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->sequences, 500);
  EXPECT_EQ(plan->split.train_rows, 1900);
  EXPECT_EQ(plan->steps_per_epoch, 31);
  EXPECT_THAT(plan->notes,
              Contains(HasSubstr("4 packed sequences an epoch are left over: they fill no")));
  EXPECT_EQ(PlanRun(job, {2000})->steps_per_epoch, 118) << "the worker did not count sequences";
  EXPECT_THAT(PlanRun(job, {2000, 15}).error().message,
              HasSubstr("15 training packed sequences do not fill one global batch of 16"));
}

TEST(PlanRun, NotesAWarmupThatOutlastsTheRunOnce) {
  JobSpec job = Job();
  job.train.lr_warmup_steps = 500;
  EXPECT_THAT(PlanRun(job, {2000})->notes,
              Contains(HasSubstr("warm-up (500 steps) is longer than the run (118)")));
  job.train.max_steps = 100;
  EXPECT_THAT(PlanRun(job, {2000})->notes, Contains(HasSubstr("warm-up")).Times(1));
}

TEST(PlanRun, NotesMostStepsThatTheOneEpochDoesNotMake) {
  JobSpec job = Job();
  job.train.max_steps = 400;
  EXPECT_THAT(PlanRun(job, {2000})->notes,
              Contains("train.max_steps 400 is not reached: train.epochs is 1, which makes 118 "
                       "steps"));
  job.train.max_steps = 118;
  EXPECT_THAT(PlanRun(job, {2000})->notes, Not(Contains(HasSubstr("max_steps"))));
  job.train = {.global_batch_size = 16, .micro_batch_size = 4, .epochs = 2, .max_steps = 400};
  EXPECT_THAT(PlanRun(job, {2000})->notes, Not(Contains(HasSubstr("max_steps"))))
      << "both are named: the smaller is meant";
}

TEST(PlanRun, NotesCheckpointsAndEvaluationsThatNeverCome) {
  JobSpec job = Job();
  job.output.dir = "/out";
  job.checkpoint.every_steps = job.eval.every_steps = 119;
  EXPECT_THAT(PlanRun(job, {2000})->notes,
              IsSupersetOf({"checkpoint.every_steps 119 is more than the run's 118 steps: there is "
                            "no checkpoint, unless it is stopped before its end",
                            "eval.every_steps 119 is more than the run's 118 steps: it is "
                            "evaluated at its end alone"}));
  job.checkpoint.every_steps = job.eval.every_steps = 118;
  EXPECT_THAT(PlanRun(job, {2000})->notes, Not(Contains(HasSubstr("every_steps"))));
}

TEST(PlanRun, RefusesRowsThatFillNoBatchAtAll) {
  const auto plan = PlanRun(Job(), {15});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, base::Code::kInvalid);
  EXPECT_THAT(plan.error().message, HasSubstr("do not fill one global batch of 16"));
}

TEST(PlanRun, WithoutTrainingNeedsNoRows) {
  JobSpec job = SmallestJob();
  job.train.max_steps = 0;
  job.eval.prompts = {"Once"};
  const auto plan = PlanRun(job, {0});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->total_steps, 0);
  EXPECT_TRUE(plan->notes.empty());
}

TEST(PlanRun, RefusesIndivisibleBatches) {
  JobSpec job = Job();
  job.train.global_batch_size = 15;
  EXPECT_THAT(PlanRun(job, {2000}).error().message, HasSubstr("8 or 16"));
}

}  // namespace
}  // namespace trainctl::job
