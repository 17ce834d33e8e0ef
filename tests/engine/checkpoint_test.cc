// The state of a run through a checkpoint and back: the same run, at the same or another world
// size.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "common/estimate/output_bytes.h"
#include "common/rank/rank_json.h"
#include "tests/engine/tiny_training.h"
#include "tests/files/scratch_directory.h"
#include "worker/rank/files/checkpoint_folder.h"
#include "worker/rank/files/output_owner.h"
#include "worker/rank/state/checkpointer.h"
#include "worker/rank/state/restore_state.h"
#include "worker/rank/state/resume.h"

namespace trainctl::engine_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr int64_t kSavedSteps = 2;
constexpr int64_t kSteps = 5;

// Rank r of a job that keeps its checkpoints in the folder.
job::RankPlan PlanOf(const TinyRun& run, int64_t rank, const std::string& folder) {
  job::RankPlan plan{.job = run.job, .job_id = "j1", .rank = rank, .world_size = run.devices};
  plan.job.name = "tiny";
  plan.job.model.path = plan.job.data.path = "/nowhere";
  plan.job.train.micro_batch_size = run.micro;
  plan.job.output.dir = folder;
  plan.job.checkpoint.every_steps = kSavedSteps;
  return plan;
}

class CheckpointTest : public ::testing::TestWithParam<job::Precision> {
 protected:
  TinyRun With(int64_t devices, int64_t accumulation) const {
    TinyRun run{.devices = devices, .accumulation = accumulation, .steps = kSteps};
    run.job.precision = GetParam();
    run.job.deterministic = true;
    return run;
  }

  // The same run, which saves its state after kSavedSteps.
  TinyRun Saving(TinyRun run) const {
    // Before any rank runs: a folder that another rank has saved in already is nobody's.
    const base::Status taken = files::TakeOutput(PlanOf(run, 0, scratch_.path()));
    EXPECT_TRUE(taken.ok()) << (taken.ok() ? "" : taken.error().message);
    run.after_step = [this, run](int64_t steps_done, strategy::Strategy& strategy,
                                 comm::Communicator& comm) {
      if (steps_done != kSavedSteps) return;
      const job::RankPlan plan = PlanOf(run, comm.rank(), scratch_.path());
      const base::SystemClock clock;
      train::Reporter reporter(-1, clock, comm.rank());
      train::Checkpointer checkpointer({.plan = plan,
                                        .strategy = strategy,
                                        .reporter = reporter,
                                        .clock = clock,
                                        .device = at::kCPU,
                                        .total_steps = kSteps,
                                        .steps_per_epoch = kSteps,
                                        .data_digest = "d",
                                        .runs = {"j1"}});
      EXPECT_TRUE(checkpointer.IsDue(steps_done));
      checkpointer.Save({.steps_done = steps_done});
    };
    return run;
  }

  // The run from the saved state on.
  TinyRun Resuming(TinyRun run) const {
    run.first_step = kSavedSteps;
    run.begin = [this](strategy::Strategy& strategy, comm::Communicator&) {
      auto found = files::FindCheckpoint(scratch_.path());
      ASSERT_TRUE(found.ok()) << found.error().message;
      EXPECT_EQ(found->manifest.step, kSavedSteps);
      auto state = files::CheckpointState::Open(std::move(*found));
      ASSERT_TRUE(state.ok()) << state.error().message;
      const auto restored = train::RestoreState(*state, strategy, [](int64_t, int64_t) {});
      ASSERT_TRUE(restored.ok()) << restored.error().message;
    };
    return run;
  }

  // What a run that was resumed after kSavedSteps should have given.
  static void ExpectContinues(const TinyResult& resumed, const TinyResult& whole,
                              double tolerance) {
    ASSERT_EQ(resumed.losses.size(), static_cast<size_t>(kSteps - kSavedSteps));
    for (size_t i = 0; i < resumed.losses.size(); ++i) {
      const double expected = whole.losses[kSavedSteps + i];
      EXPECT_NEAR(resumed.losses[i], expected, tolerance * expected) << "step " << kSavedSteps + i;
    }
    for (const auto& [name, weight] : whole.weights) {
      const double error = (resumed.weights.at(name).to(at::kFloat) - weight.to(at::kFloat))
                               .abs()
                               .max()
                               .item<double>();
      EXPECT_LE(error, tolerance) << name;
    }
    EXPECT_TRUE(resumed.ranks_agree);
  }

  ScratchDirectory scratch_;
};

TEST_P(CheckpointTest, OneRankGoesOnBitForBit) {
  const TinyResult whole = Train(Saving(With(1, 2)));
  ExpectContinues(Train(Resuming(With(1, 2))), whole, 0);
}

TEST_P(CheckpointTest, TwoRanksGoOnBitForBit) {
  const TinyResult whole = Train(Saving(With(2, 1)));
  ExpectContinues(Train(Resuming(With(2, 1))), whole, 0);
}

TEST_P(CheckpointTest, AnotherWorldSizeGoesOnUpToRounding) {
  const TinyResult whole = Train(Saving(With(2, 2)));
  ExpectContinues(Train(Resuming(With(1, 4))), whole, 2e-5);
  ExpectContinues(Train(Resuming(With(4, 1))), whole, 2e-5);
}

TEST_P(CheckpointTest, SgdWithMomentumGoesOnBitForBit) {
  TinyRun run = With(2, 1);
  run.job.optimizer = {.name = job::OptimizerKind::kSgd, .lr = 0.1, .momentum = 0.9};
  const TinyResult whole = Train(Saving(run));
  ExpectContinues(Train(Resuming(run)), whole, 0);
}

TEST_P(CheckpointTest, ShardedStateGoesOnBitForBit) {
  TinyRun run = With(2, 1);
  run.job.strategy = job::StrategyKind::kFsdp;
  const TinyResult whole = Train(Saving(run));
  ExpectContinues(Train(Resuming(run)), whole, 0);
}

TEST_P(CheckpointTest, ShardedStateGoesOnReplicatedAndBackUpToRounding) {
  TinyRun sharded = With(2, 2);
  sharded.job.strategy = job::StrategyKind::kFsdp;
  const TinyResult whole = Train(Saving(sharded));
  ExpectContinues(Train(Resuming(With(1, 4))), whole, 2e-5);
  const TinyResult replicated = Train(Saving(With(1, 4)));
  ExpectContinues(Train(Resuming(sharded)), replicated, 2e-5);
}

TEST_P(CheckpointTest, OfPicturesAndAFrozenPartGoesOnBitForBit) {
  TinyRun run = With(2, 1);
  run.job.strategy = job::StrategyKind::kFsdp;
  run.job.freeze = {"vision"};
  const TinyResult whole = Train(Saving(run), TinyBlip2());
  ExpectContinues(Train(Resuming(run), TinyBlip2()), whole, 0);
}

// Up to the rounding of each tensor to 256 elements, and to the headers of files.
TEST_P(CheckpointTest, IsAsLargeAsPredicted) {
  std::vector<TinyRun> runs(4, With(2, 1));
  runs[1].job.optimizer = {.name = job::OptimizerKind::kSgd, .lr = 0.1, .momentum = 0.9};
  runs[2].job.strategy = job::StrategyKind::kFsdp;
  runs[3].job.lora = job::LoraSpec{.r = 16, .targets = {}};
  for (size_t i = 0; i < runs.size(); ++i) {
    Train(Saving(runs[i]));
    double written = 0;
    for (const auto& file : files::FindCheckpoint(scratch_.path()).value().manifest.files)
      written += static_cast<double>(file.size_bytes);
    const job::RunPlan plan{.job = PlanOf(runs[i], 0, scratch_.path()).job, .total_steps = kSteps};
    const auto predicted =
        static_cast<double>(job::EstimateOutput(plan, {.model = TinyShape()}).checkpoint);
    EXPECT_NEAR(predicted / written, 1, 0.1) << "run " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, CheckpointTest,
                         ::testing::Values(job::Precision::k32True, job::Precision::kBf16True,
                                           job::Precision::kBf16Mixed));

class CheckpointFaultTest : public CheckpointTest {};

TEST_P(CheckpointFaultTest, StateOfAnotherOptimizerIsNamed) {
  Train(Saving(With(1, 1)));
  TinyRun run = With(1, 1);
  run.job.optimizer = {.name = job::OptimizerKind::kSgd, .lr = 0.1, .momentum = 0.9};
  run.begin = [this](strategy::Strategy& strategy, comm::Communicator&) {
    auto state =
        files::CheckpointState::Open(files::FindCheckpoint(scratch_.path()).value()).value();
    const auto restored = train::RestoreState(state, strategy, [](int64_t, int64_t) {});
    ASSERT_FALSE(restored.ok());
    EXPECT_THAT(restored.error().message, HasSubstr("optimizer"));
  };
  Train(run);
}

TEST_P(CheckpointFaultTest, AFolderThatCannotBeWrittenIsSaidAndTrainingGoesOn) {
  std::ofstream(scratch_.path() + "/checkpoints") << "a file where the folder should be";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  TinyRun run = With(1, 1);
  run.after_step = [&](int64_t steps_done, strategy::Strategy& strategy, comm::Communicator&) {
    const job::RankPlan plan = PlanOf(run, 0, scratch_.path());
    const base::SystemClock clock;
    train::Reporter reporter(ends[1], clock, 0);
    train::Checkpointer checkpointer({.plan = plan,
                                      .strategy = strategy,
                                      .reporter = reporter,
                                      .clock = clock,
                                      .device = at::kCPU,
                                      .total_steps = kSteps,
                                      .steps_per_epoch = kSteps,
                                      .data_digest = "d",
                                      .runs = {"j1"}});
    checkpointer.Save({.steps_done = steps_done});
    checkpointer.Save({.steps_done = steps_done});
  };
  EXPECT_EQ(Train(run).losses, Train(With(1, 1)).losses);
  close(ends[1]);
  char text[1 << 14] = "";
  EXPECT_GT(read(ends[0], text, sizeof text - 1), 0);
  close(ends[0]);
  EXPECT_THAT(text, HasSubstr("\"type\":\"notice\""));
  EXPECT_THAT(text, HasSubstr("no checkpoint of step 1"));
}

// Who hears nothing more must not miss what was listed.
TEST_P(CheckpointFaultTest, AFailedRunRemovesNoCheckpointWithoutSayingSo) {
  TinyRun run = With(1, 1);
  run.steps = 2;
  job::RankPlan plan = PlanOf(run, 0, scratch_.path());
  plan.job.checkpoint.keep_last = 1;
  ASSERT_TRUE(files::TakeOutput(plan).ok());
  run.after_step = [&](int64_t steps_done, strategy::Strategy& strategy, comm::Communicator&) {
    const base::SystemClock clock;
    train::Reporter reporter(-1, clock, 0);
    train::Checkpointer checkpointer({.plan = plan,
                                      .strategy = strategy,
                                      .reporter = reporter,
                                      .clock = clock,
                                      .device = at::kCPU,
                                      .total_steps = kSteps,
                                      .steps_per_epoch = kSteps,
                                      .data_digest = "d",
                                      .runs = {"j1"}});
    checkpointer.Confirm(steps_done);
    if (steps_done == 2) checkpointer.Abandon();
    checkpointer.Save({.steps_done = steps_done});
  };
  Train(run);
  EXPECT_TRUE(fs::exists(scratch_.path() + "/checkpoints/step-1"));
  EXPECT_TRUE(fs::exists(scratch_.path() + "/checkpoints/step-2"));
}

TEST_P(CheckpointFaultTest, AFolderThatAHostDoesNotSeeIsRefused) {
  InGang(2, [&](comm::Communicator& comm) {
    TinyRun run = With(2, 1);
    const job::RankPlan plan = PlanOf(run, comm.rank(), scratch_.path());
    EXPECT_TRUE(
        train::CheckSharedFolder(scratch_.path() + "/checkpoints", plan, comm, at::kCPU).ok());
    const std::string own = scratch_.path() + "/host-" + std::to_string(comm.rank());
    const auto checked = train::CheckSharedFolder(own, plan, comm, at::kCPU);
    EXPECT_EQ(checked.ok(), comm.rank() == 0);
    if (comm.rank() == 1) {
      EXPECT_THAT(checked.error().message, HasSubstr("does not see"));
    }
  });
  EXPECT_TRUE(fs::is_empty(scratch_.path() + "/checkpoints"));
}

INSTANTIATE_TEST_SUITE_P(OnePrecision, CheckpointFaultTest,
                         ::testing::Values(job::Precision::k32True));

TEST(Staging, AtItsBoundTheProducerWaitsForTheConsumer) {
  train::Staging staging(at::kCPU, 8, 1);
  const auto produce = [&](uint8_t value) {
    at::Tensor buffer = staging.Take();
    buffer.fill_(value);
    staging.Push({buffer, 8, train::StreamMark(at::kCPU)});
  };
  produce(1);
  std::future<void> second = std::async(std::launch::async, [&] {
    produce(2);
    staging.Close();
  });
  std::vector<int> seen;
  while (auto staged = staging.Pop()) {
    seen.push_back(staged->buffer[0].item<int>());
    staging.GiveBack(staged->buffer);
  }
  EXPECT_THAT(seen, ::testing::ElementsAre(1, 2));
}

TEST(ShareChoice, IsRankZerosAtEveryRank) {
  InGang(3, [](comm::Communicator& comm) {
    const std::optional<std::string> own =
        comm.rank() == 0 ? std::optional<std::string>("/out/checkpoints/step-8") : std::nullopt;
    EXPECT_EQ(train::ShareChoice(own, comm, at::kCPU), "/out/checkpoints/step-8");
    EXPECT_EQ(train::ShareChoice(std::nullopt, comm, at::kCPU), std::nullopt);
  });
}

}  // namespace
}  // namespace trainctl::engine_test
