#include "common/estimate/output_bytes.h"

#include <gmock/gmock.h>

#include "common/estimate/accept_job.h"
#include "tests/job/tiny_llama.h"
#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using tiny_llama::kAll;
using tiny_llama::TinyLlama;

// 100 steps with a checkpoint every 10 and the model at the end.
RunPlan Saving(Precision precision) {
  RunPlan plan{.job = SmallestJob(), .total_steps = 100};
  plan.job.precision = precision;
  plan.job.output = {.dir = "/out", .save = Save::kFinal};
  plan.job.checkpoint.every_steps = 10;
  return plan;
}

OutputBytes Of(const RunPlan& plan, const Inspection& inspection = TinyLlama()) {
  return EstimateOutput(plan, inspection);
}

TEST(EstimateOutput, CountsMastersAndMomentsAndTheModelByPrecision) {
  EXPECT_EQ(Of(Saving(Precision::k32True)).checkpoint, 12 * kAll);
  EXPECT_EQ(Of(Saving(Precision::k32True)).result, 4 * kAll);
  EXPECT_EQ(Of(Saving(Precision::kBf16True)).checkpoint, 6 * kAll);
  EXPECT_EQ(Of(Saving(Precision::kBf16True)).result, 2 * kAll);
  EXPECT_EQ(Of(Saving(Precision::kBf16Mixed)).checkpoint, 12 * kAll);
  EXPECT_EQ(Of(Saving(Precision::kBf16Mixed)).result, 4 * kAll);
}

TEST(EstimateOutput, CountsWhatAllRanksWriteTogether) {
  RunPlan plan = Saving(Precision::kBf16True);
  plan.job.devices = 4;
  plan.job.strategy = StrategyKind::kFsdp;
  EXPECT_EQ(Of(plan).checkpoint, 6 * kAll);
  plan.job.offload_optimizer = true;
  EXPECT_EQ(Of(plan).checkpoint, 12 * kAll);
}

TEST(EstimateOutput, CountsAdaptersAloneUnlessTheyAreMerged) {
  RunPlan plan = Saving(Precision::kBf16True);
  plan.job.lora = LoraSpec{.r = 8, .targets = {"q"}};
  constexpr int64_t kAdapters = 22 * 8 * (2048 + 2048);
  EXPECT_EQ(Of(plan).checkpoint, 6 * kAdapters);
  EXPECT_EQ(Of(plan).result, 2 * kAdapters);
  plan.job.output.save = Save::kMerged;
  EXPECT_EQ(Of(plan).result, 2 * kAll);
}

TEST(EstimateOutput, AModelHasTheSizeOfTheTypeThatItIsSavedIn) {
  RunPlan plan = Saving(Precision::k32True);
  plan.job.output.dtype = WeightsType::kFloat16;
  EXPECT_EQ(Of(plan).result, 2 * kAll);
  EXPECT_EQ(Of(plan).checkpoint, 12 * kAll);  // exact
  plan = Saving(Precision::kBf16True);
  plan.job.output.dtype = WeightsType::kFloat32;
  EXPECT_EQ(Of(plan).result, 4 * kAll);
  plan.job.lora.emplace();
  plan.job.output.save = Save::kMerged;
  EXPECT_EQ(Of(plan).result, 4 * kAll);
}

TEST(EstimateOutput, KeepsAsManyCheckpointsAsTheRunMakes) {
  RunPlan plan = Saving(Precision::kBf16True);
  EXPECT_EQ(Of(plan).most(), 3 * 6 * kAll);
  plan.total_steps = 25;  // both checkpoints are there while the result is written
  EXPECT_EQ(Of(plan).most(), (2 * 6 + 2) * kAll);
  plan.total_steps = 9;
  EXPECT_EQ(Of(plan).most(), 2 * kAll);
}

TEST(EstimateOutput, TheBestCheckpointCountsWhereThereAreRowsToChooseItBy) {
  RunPlan plan = Saving(Precision::kBf16True);
  plan.job.checkpoint.keep_best = true;
  EXPECT_EQ(Of(plan).at_once, 3);
  plan.split.val_rows = 10;
  EXPECT_EQ(Of(plan).at_once, 4);
}

TEST(EstimateOutput, ARunThatGoesOnWritesWhatIsLeft) {
  RunPlan plan = Saving(Precision::kBf16True);
  Inspection inspection = TinyLlama();
  inspection.resume_step = 90;  // a fork: its folder is empty
  EXPECT_EQ(Of(plan, inspection).at_once, 1);
  EXPECT_EQ(Of(plan, inspection).staying, 1);
  plan.job.checkpoint.resume_job = "j1";
  inspection.resume_step = 50;
  EXPECT_EQ(Of(plan, inspection).at_once, 3);
  inspection.output = OutputFolder{.owner = FolderOwner{"site", "j1", "job"}};
  EXPECT_EQ(Of(plan, inspection).at_once, 1);
  inspection.resume_step = 100;
  EXPECT_EQ(Of(plan, inspection).checkpoint, 0);
}

Acceptance Accepted(std::optional<int64_t> free_bytes, bool force) {
  Inspection inspection = TinyLlama();
  inspection.rows = 1000;
  inspection.output = OutputFolder{.free_bytes = free_bytes};
  const RunPlan plan = Saving(Precision::kBf16True);
  return AcceptJob({.job = plan.job, .inspection = inspection, .force = force}).value();
}

TEST(AcceptJob, RefusesWhatItsDiskHasNoRoomFor) {
  const Acceptance refused = Accepted(10'000'000'000, false);
  ASSERT_EQ(refused.problems.size(), 1u);
  EXPECT_EQ(refused.problems[0].path, "output.dir");
  EXPECT_THAT(refused.problems[0].expected, HasSubstr("room for 18.44 GiB"));
  EXPECT_THAT(refused.problems[0].hint, HasSubstr("it has 9.31 GiB free"));
  EXPECT_THAT(refused.problems[0].hint,
              HasSubstr("a checkpoint takes 6.15 GiB, and up to 3 are there at once"));
  EXPECT_THAT(refused.problems[0].hint, HasSubstr("the result takes 2.05 GiB"));
}

TEST(AcceptJob, TakesItWhereThereIsRoomOrNothingIsKnown) {
  EXPECT_THAT(Accepted(20'000'000'000, false).problems, IsEmpty());
  EXPECT_THAT(Accepted(std::nullopt, false).problems, IsEmpty());
}

TEST(AcceptJob, ForcePutsTheDiskAside) {
  const Acceptance forced = Accepted(0, true);
  EXPECT_THAT(forced.problems, IsEmpty());
  ASSERT_EQ(forced.overridden.size(), 1u);
  EXPECT_EQ(forced.overridden[0].consequence, "its disk will probably be full");
}

}  // namespace
}  // namespace trainctl::job
