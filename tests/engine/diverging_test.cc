// A rank whose numbers are lost: how it ends, and what it leaves behind.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

#include "tests/engine/rank_process.h"

namespace trainctl::engine_test {
namespace {

class DivergingTest : public RankTest {
 protected:
  DivergingTest() {
    plan_.job.train.max_steps = 8;
    plan_.job.output.dir = folder_ / "out";
    plan_.job.output.save = job::Save::kFinal;
  }
};

TEST_F(DivergingTest, ARunWhoseLossIsNoNumberStopsAndSavesNothing) {
  plan_.job.optimizer.lr = 1e30;
  const RankEnd end = Run();
  EXPECT_EQ(end.exit_code, 1);
  EXPECT_EQ(end.outcome().outcome, job::Outcome::kDiverged) << end.outcome().message;
  // Steps are counted as those that are done. The sign of a nan, which is noise, is not said.
  const std::string steps = std::to_string(end.Points("loss").size());
  EXPECT_TRUE(std::regex_search(
      end.outcome().message,
      std::regex("^the (loss|gradient's norm) is (nan|-?inf) after step " + steps + ";")))
      << end.outcome().message;
  EXPECT_LE(end.Points("loss").size(), 4u);
  EXPECT_TRUE(end.All<job::RankSaved>().empty());
  EXPECT_FALSE(fs::exists(folder_ / "out" / "model.safetensors"));
}

TEST_F(DivergingTest, WithOnNanContinueItRunsToItsEndAndSaysSo) {
  plan_.job.optimizer.lr = 1e30;
  plan_.job.train.on_nan = job::OnNan::kContinue;
  const RankEnd end = Run();
  EXPECT_EQ(end.outcome().outcome, job::Outcome::kDiverged) << end.outcome().message;
  EXPECT_NE(end.outcome().message.find("train.on_nan"), std::string::npos);
  EXPECT_EQ(end.Points("loss").size(), 8u);
  EXPECT_EQ(end.All<job::RankSaved>().size(), 1u);
  EXPECT_EQ(end.All<job::RankNotice>().size(), 1u);
}

TEST_F(DivergingTest, TheLastGoodCheckpointStays) {
  plan_.job.checkpoint = {.every_steps = 1, .keep_last = 1};
  plan_.job.train.max_steps = 2;
  ASSERT_EQ(Run().outcome().outcome, job::Outcome::kSucceeded);
  const fs::path checkpoints = folder_ / "out" / "checkpoints";
  ASSERT_TRUE(fs::exists(checkpoints / "step-2"));
  plan_.attempt = 2;
  // The next attempt of the same job goes on from there, and its first update ruins the weights.
  plan_.job.optimizer.lr = 1e30;
  plan_.job.train.max_steps = 8;
  plan_.job.checkpoint.resume_from = checkpoints;
  const RankEnd end = Run();
  ASSERT_EQ(end.outcome().outcome, job::Outcome::kDiverged) << end.outcome().message;
  EXPECT_TRUE(fs::exists(checkpoints / "step-2"));
  EXPECT_FALSE(fs::exists(checkpoints / "step-3"));
  EXPECT_TRUE(end.All<job::RankSaved>().empty());
}

// No loss comes after the last step, and without validation rows nobody else looks.
TEST_F(DivergingTest, WeightsThatTheLastStepRuinsAreNotSaved) {
  plan_.job.data.val_split_fraction = 0;
  plan_.job.checkpoint = {.every_steps = 1, .keep_last = 1};
  plan_.job.train.max_steps = 2;
  ASSERT_EQ(Run().outcome().outcome, job::Outcome::kSucceeded);
  fs::remove(folder_ / "out" / "model.safetensors");
  plan_.attempt = 2;
  plan_.job.checkpoint.resume_from = folder_ / "out" / "checkpoints";
  plan_.job.optimizer.lr = 1e39;  // more than fp32 holds
  plan_.job.train.max_steps = 3;
  const RankEnd end = Run();
  EXPECT_EQ(end.outcome().outcome, job::Outcome::kDiverged) << end.outcome().message;
  EXPECT_NE(end.outcome().message.find("the weights' norm is "), std::string::npos)
      << end.outcome().message;
  EXPECT_EQ(end.Points("loss").size(), 1u);
  EXPECT_TRUE(end.All<job::RankSaved>().empty());
  EXPECT_TRUE(fs::exists(folder_ / "out" / "checkpoints" / "step-2"));
  EXPECT_FALSE(fs::exists(folder_ / "out" / "checkpoints" / "step-3"));
  EXPECT_FALSE(fs::exists(folder_ / "out" / "model.safetensors"));
}

TEST_F(DivergingTest, WithOnNanContinueRuinedWeightsAreSavedAndSaid) {
  plan_.job.data.val_split_fraction = 0;
  plan_.job.train.max_steps = 1;
  plan_.job.train.on_nan = job::OnNan::kContinue;
  plan_.job.optimizer.lr = 1e39;
  const RankEnd end = Run();
  EXPECT_EQ(end.outcome().outcome, job::Outcome::kDiverged) << end.outcome().message;
  EXPECT_EQ(end.All<job::RankSaved>().size(), 1u);
}

TEST_F(RankTest, TheGradientIsLookedAtWhereMemoryIsBehindCheckpointsAndAtTheEnd) {
  plan_.job.train.max_steps = 42;
  plan_.job.output.dir = folder_ / "out";
  plan_.job.checkpoint.every_steps = 9;
  plan_.job.train.epochs = 100;
  plan_.job.data.max_rows = 32;
  const RankEnd end = Run();
  ASSERT_EQ(end.outcome().outcome, job::Outcome::kSucceeded) << end.outcome().message;
  std::set<int64_t> wanted = {1, 9, 18, 27, 36, 41}, seen;
  for (int64_t step = 0; step < 42; step += 2) wanted.insert(step);  // a run of 42 steps
  for (const job::MetricPoint& point : end.Points("grad_norm")) seen.insert(point.step);
  EXPECT_EQ(seen, wanted);
}

}  // namespace
}  // namespace trainctl::engine_test
