// trainrank continues the prompts of a job at its evaluations.
#include <gtest/gtest.h>

#include "tests/engine/rank_process.h"

namespace trainctl::engine_test {
namespace {

class PromptsOfRankTest : public RankTest {
 protected:
  PromptsOfRankTest() {
    plan_.job.eval.prompts = {"Give three tips", "What is"};
    plan_.job.eval.max_new_tokens = 8;
    plan_.job.eval.every_steps = 2;
  }
};

TEST_F(PromptsOfRankTest, EachEvaluationTellsEachTextOnceAndLogsIt) {
  const RankEnd end = Run();
  ASSERT_EQ(end.outcome().outcome, job::Outcome::kSucceeded) << end.outcome().message;
  const auto said = end.All<job::RankContinuation>();
  ASSERT_EQ(said.size(), 4u);
  for (size_t i = 0; i < said.size(); ++i) {
    EXPECT_EQ(said[i].step, i < 2 ? 2 : 4);
    EXPECT_EQ(said[i].place, static_cast<int64_t>(i % 2));
    EXPECT_EQ(said[i].prompt, plan_.job.eval.prompts[i % 2]);
  }
  std::ifstream file(folder_ / "log");
  const std::string log{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(log.find("step 4: What is → "), std::string::npos) << log;
  EXPECT_EQ(end.Points("val_loss").size(), 2u);
  EXPECT_EQ(end.Points("evaluation_seconds").size(), 2u);
}

TEST_F(PromptsOfRankTest, TextsNeedNoValidationRowsAndTheLossStaysAsItIs) {
  plan_.job.data.val_split_fraction = 0;
  const RankEnd with = Run();
  EXPECT_EQ(with.All<job::RankContinuation>().size(), 4u);
  EXPECT_TRUE(with.Points("val_loss").empty());
  plan_.job.eval.prompts.clear();
  const RankEnd without = Run();
  EXPECT_TRUE(without.All<job::RankContinuation>().empty());
  const auto losses = with.Points("loss"), expected = without.Points("loss");
  ASSERT_EQ(losses.size(), expected.size());
  for (size_t i = 0; i < losses.size(); ++i) EXPECT_EQ(losses[i].value, expected[i].value);
}

TEST_F(PromptsOfRankTest, APromptBeyondTheModelsPositionsEndsTheRunByName) {
  plan_.job.eval.prompts[1] = std::string(4096, '#');
  const RankEnd end = Run();
  EXPECT_EQ(end.outcome().outcome, job::Outcome::kFailed);
  EXPECT_EQ(end.outcome().message.rfind("eval.prompts[1]: ", 0), 0u) << end.outcome().message;
}

}  // namespace
}  // namespace trainctl::engine_test
