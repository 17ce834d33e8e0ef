// trainrank as a process that goes on from a checkpoint.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/engine/rank_process.h"

namespace trainctl::engine_test {
namespace {

class ResumeTest : public RankTest {
 protected:
  ResumeTest() {
    plan_.job.deterministic = true;
    plan_.job.train.max_steps = 6;
    plan_.job.eval.every_steps = 3;
    plan_.job.output.dir = folder_ / "out";
  }
  static std::map<int64_t, double> ByStep(const std::vector<job::MetricPoint>& points) {
    std::map<int64_t, double> values;
    for (const job::MetricPoint& point : points) values[point.step] = point.value;
    return values;
  }
  // Those from `step` on.
  static std::map<int64_t, double> From(int64_t step, std::map<int64_t, double> values) {
    std::erase_if(values, [&](const auto& point) { return point.first < step; });
    return values;
  }
  fs::path Checkpoint(int step) const {
    return folder_ / "out" / "checkpoints" / ("step-" + std::to_string(step));
  }
};

TEST_F(ResumeTest, GoesOnFromACheckpointBitForBit) {
  plan_.job.output.dir.reset();
  const RankEnd whole = Run();
  plan_.job.output.dir = folder_ / "out";
  plan_.job.checkpoint.every_steps = 2;
  const RankEnd saving = Run();
  EXPECT_EQ(ByStep(saving.Points("loss")), ByStep(whole.Points("loss")));
  const auto saved = saving.All<job::RankSaved>();
  ASSERT_EQ(saved.size(), 3u);
  EXPECT_EQ(saved[1].kind, "checkpoint");
  EXPECT_EQ(saved[1].path, Checkpoint(4).string());
  EXPECT_TRUE(saved[1].removed.empty());
  EXPECT_EQ(saved[2].removed, std::vector<std::string>{Checkpoint(2).string()});
  EXPECT_EQ(saving.Points("checkpoint_seconds").size(), 3u);
  EXPECT_TRUE(whole.Points("save_seconds").empty());
  EXPECT_EQ(saving.Points("save_seconds").size(), 1u);  // the last one's end was waited for
  EXPECT_FALSE(fs::exists(Checkpoint(2)));              // keep_last is 2

  plan_.job_id = "j2";
  plan_.job.checkpoint = {.resume_from = Checkpoint(4).string()};
  const RankEnd resumed = Run();
  EXPECT_EQ(resumed.outcome().outcome, job::Outcome::kSucceeded) << resumed.outcome().message;
  EXPECT_EQ(ByStep(resumed.Points("loss")), From(4, ByStep(whole.Points("loss"))));
  EXPECT_EQ(ByStep(resumed.Points("lr")), From(4, ByStep(whole.Points("lr"))));
  EXPECT_EQ(ByStep(resumed.Points("val_loss")), From(4, ByStep(whole.Points("val_loss"))));
  EXPECT_EQ(resumed.All<job::RankProgress>().back().first_step, 4);
  EXPECT_EQ(resumed.All<job::RankProgress>().back().step, 6);
}

TEST_F(ResumeTest, AModelSavedAsFloat16LeavesItsCheckpointsExact) {
  plan_.job.output.save = job::Save::kFinal;
  plan_.job.output.dtype = job::WeightsType::kFloat16;
  plan_.job.checkpoint.every_steps = 2;
  const RankEnd whole = Run();
  ASSERT_EQ(whole.outcome().outcome, job::Outcome::kSucceeded) << whole.outcome().message;
  EXPECT_TRUE(fs::exists(folder_ / "out" / "model.safetensors"));
  plan_.job_id = "j2";
  plan_.job.output.dir = folder_ / "other";
  plan_.job.checkpoint = {.resume_from = Checkpoint(4).string()};
  const RankEnd resumed = Run();
  EXPECT_EQ(resumed.outcome().outcome, job::Outcome::kSucceeded) << resumed.outcome().message;
  EXPECT_EQ(ByStep(resumed.Points("loss")), From(4, ByStep(whole.Points("loss"))));
  EXPECT_EQ(ByStep(resumed.Points("val_loss")), From(4, ByStep(whole.Points("val_loss"))));
}

TEST_F(ResumeTest, ALaterAttemptTakesTheNewestOfItsOwnJobOnly) {
  plan_.job.checkpoint.every_steps = 2;
  const RankEnd first = Run();
  fs::remove_all(Checkpoint(6));
  plan_.attempt = 2;
  const RankEnd second = Run();
  EXPECT_EQ(ByStep(second.Points("loss")), From(4, ByStep(first.Points("loss"))));
  plan_.job_id = "j9";
  const RankEnd other = Run();
  EXPECT_EQ(other.outcome().outcome, job::Outcome::kFailed);
  EXPECT_NE(other.outcome().message.find("it belongs to j1 (tiny)"), std::string::npos)
      << other.outcome().message;
  EXPECT_TRUE(fs::exists(Checkpoint(4)));
}

TEST_F(ResumeTest, AStoppedRunHasACheckpointOfWhereItStood) {
  const std::map<int64_t, double> whole = ByStep(Run().Points("loss"));
  plan_.job.checkpoint.every_steps = 5;
  const RankEnd stopped = Run(job::ToLine(job::RankCommand(job::StopCommand{})) + "\n");
  EXPECT_EQ(stopped.outcome().outcome, job::Outcome::kCancelled);
  const auto done = static_cast<int64_t>(stopped.Points("loss").size());
  ASSERT_GT(done, 0);
  ASSERT_EQ(stopped.All<job::RankSaved>().size(), 1u);
  plan_.job_id = "j2";
  plan_.job.checkpoint.resume_from = *plan_.job.output.dir;
  plan_.job.checkpoint.resume_job = "j1";
  plan_.ended_jobs = {"j1"};
  EXPECT_EQ(ByStep(Run().Points("loss")), From(done, whole));
}

TEST_F(ResumeTest, TheBestIsKeptBesideTheLast) {
  plan_.job.eval.every_steps.reset();
  plan_.job.checkpoint = {.every_steps = 1, .keep_last = 1, .keep_best = true};
  const auto val_loss = ByStep(Run().Points("val_loss"));
  ASSERT_EQ(val_loss.size(), 6u);
  const auto best =
      std::ranges::min_element(val_loss, {}, [](const auto& point) { return point.second; });
  EXPECT_TRUE(fs::exists(Checkpoint(static_cast<int>(best->first) + 1)));
  EXPECT_TRUE(fs::exists(Checkpoint(6)));
}

TEST_F(ResumeTest, AdaptersGoOnOverTheModelsOwnWeights) {
  plan_.job.precision = job::Precision::kBf16Mixed;
  plan_.job.lora = job::LoraSpec{};
  plan_.job.quantize = job::Quantize::kNf4;
  plan_.job.checkpoint.every_steps = 3;
  const auto whole = ByStep(Run().Points("loss"));
  plan_.job_id = "j2";
  plan_.job.checkpoint = {.resume_from = Checkpoint(3).string()};
  EXPECT_EQ(ByStep(Run().Points("loss")), From(3, whole));
}

TEST_F(ResumeTest, NothingToResumeFromIsNamed) {
  plan_.job.checkpoint.resume_from = folder_ / "empty";
  EXPECT_NE(Run().outcome().message.find((folder_ / "empty").string()), std::string::npos);
}

}  // namespace
}  // namespace trainctl::engine_test
