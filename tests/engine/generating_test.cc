// trainrank continues prompts without training: with a saved model, and with a saved adapter beside
// its base model.
#include <gtest/gtest.h>

#include "common/estimate/memory_estimate.h"
#include "tests/engine/rank_process.h"
#include "worker/rank/data/inspect.h"

namespace trainctl::engine_test {
namespace {

class GeneratingRankTest : public RankTest {
 protected:
  using Texts = std::vector<std::pair<std::string, std::string>>;

  GeneratingRankTest() {
    plan_.job.eval.prompts = {"Give three tips", "What is"};
    plan_.job.eval.max_new_tokens = 20;
    plan_.job.optimizer.lr = 1e-2;
  }

  // Trains, and saves its result; what the model said of the prompts then.
  Texts Train(job::Save save) {
    plan_.job.output = {.dir = folder_ / "out", .save = save};
    const RankEnd end = Run();
    EXPECT_EQ(end.outcome().outcome, job::Outcome::kSucceeded) << end.outcome().message;
    return LastTexts(end);
  }

  // From now on the plan is of a job that continues prompts with the result.
  void Generate() {
    plan_.job.model.path = folder_ / "out";
    plan_.job.output = {};
    plan_.job.train.max_steps = 0;
    plan_.job.train.micro_batch_size = 1;
    plan_.job.data.path = "/no such file";
  }

  static Texts LastTexts(const RankEnd& end) {
    std::map<int64_t, std::pair<std::string, std::string>> by_place;
    for (const auto& said : end.All<job::RankContinuation>())
      by_place[said.place] = {said.prompt, said.text};
    Texts texts;
    for (const auto& [place, text] : by_place) texts.push_back(text);
    return texts;
  }

  static std::vector<float> Peaks(const RankEnd& end) {
    std::vector<float> peaks;
    for (const job::MetricPoint& point : end.Points("memory_peak_allocated_bytes"))
      peaks.push_back(static_cast<float>(point.value));
    return peaks;
  }
};

TEST_F(GeneratingRankTest, ASavedModelSaysWhatTheTrainedOneSaid) {
  const Texts said = Train(job::Save::kFinal);
  ASSERT_EQ(said.size(), 2u);
  Generate();
  const RankEnd end = Run();
  ASSERT_EQ(end.outcome().outcome, job::Outcome::kSucceeded) << end.outcome().message;
  EXPECT_EQ(LastTexts(end), said);
  EXPECT_TRUE(end.Points("loss").empty());
  EXPECT_EQ(end.Phases().back(), job::RunPhase::kGenerating);
}

TEST_F(GeneratingRankTest, ASavedAdapterSaysWhatTheTrainedOneSaid) {
  plan_.job.lora = job::LoraSpec{.r = 4, .alpha = 32, .dropout = 0.5, .targets = {}};
  plan_.job.train.max_steps = 12;
  plan_.job.optimizer.lr = 3e-2;
  const Texts said = Train(job::Save::kAdapter);
  ASSERT_EQ(said.size(), 2u);
  Generate();
  const RankEnd end = Run();
  ASSERT_EQ(end.outcome().outcome, job::Outcome::kSucceeded) << end.outcome().message;
  EXPECT_EQ(LastTexts(end), said);
  plan_.job.model.path = checkout::File("deploy/models/tiny");
  EXPECT_NE(LastTexts(Run()), said) << "the adapter changes nothing: the test shows nothing";
}

TEST_F(GeneratingRankTest, AnAdapterThatIsNotTheJobsEndsTheRunByName) {
  plan_.job.lora = job::LoraSpec{.r = 4, .alpha = 8, .dropout = 0, .targets = {"q"}};
  Train(job::Save::kAdapter);
  Generate();
  plan_.job.lora->targets = {"q", "v"};
  EXPECT_NE(Run().outcome().message.find("v_proj.lora_"), std::string::npos);
  plan_.job.lora->targets = {"v"};
  EXPECT_NE(Run().outcome().message.find("v_proj.lora_"), std::string::npos);
  plan_.job.lora->r = 8;
  EXPECT_NE(Run().outcome().message.find("lora.r: 8: expected 4"), std::string::npos);
  plan_.job.lora.reset();
  const RankEnd end = Run();
  EXPECT_EQ(end.outcome().outcome, job::Outcome::kFailed);
  EXPECT_NE(end.outcome().message.find("is an adapter: add \"lora\""), std::string::npos);
}

TEST_F(GeneratingRankTest, EachTextIsToldAsItGrowsOneAfterTheOther) {
  Generate();
  plan_.job.model.path = checkout::File("deploy/models/tiny");
  plan_.job.eval.max_new_tokens = 40;
  const auto said = Run().All<job::RankContinuation>();
  ASSERT_GT(said.size(), 4u);
  for (size_t i = 1; i < said.size(); ++i) {
    if (said[i].place == said[i - 1].place) {
      EXPECT_TRUE(said[i].text.starts_with(said[i - 1].text)) << i;
    } else {
      EXPECT_EQ(said[i].place, said[i - 1].place + 1);
    }
  }
}

TEST_F(GeneratingRankTest, AStopEndsItAsCancelled) {
  Generate();
  plan_.job.model.path = checkout::File("deploy/models/tiny");
  plan_.job.eval.max_new_tokens = 1500;
  const RankEnd end = Run("{\"type\":\"stop\"}\n");
  EXPECT_EQ(end.outcome().outcome, job::Outcome::kCancelled) << end.outcome().message;
}

TEST_F(GeneratingRankTest, WhatTheModelsSettingsWouldWriteOtherwiseIsTold) {
  Generate();
  plan_.job.model.path = folder_ / "model";
  std::filesystem::copy(checkout::File("deploy/models/tiny"), plan_.job.model.path);
  EXPECT_TRUE(Run().All<job::RankNotice>().empty());
  std::ofstream(folder_ / "model" / "generation_config.json")
      << R"({"repetition_penalty": 1.1, "no_repeat_ngram_size": 3, "num_beams": 4})";
  const auto notices = Run().All<job::RankNotice>();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].text,
            "eval.prompts: generation_config.json of the model sets no_repeat_ngram_size 3, "
            "num_beams 4, which texts here do not follow: transformers' generate may write others");
}

TEST_F(GeneratingRankTest, OnlyTokensThatTheModelsSettingsKeepAreDrawn) {
  Generate();
  plan_.job.model.path = folder_ / "model";
  std::filesystem::copy(checkout::File("deploy/models/tiny"), plan_.job.model.path);
  const Texts likeliest = LastTexts(Run());
  plan_.job.eval.temperature = 5;
  EXPECT_NE(LastTexts(Run()), likeliest);
  for (const char* kept : {R"({"top_k": 1, "min_p": 0.1})", R"({"top_p": 1e-9, "min_p": 0.1})"}) {
    std::ofstream(folder_ / "model" / "generation_config.json") << kept;
    const RankEnd end = Run();
    EXPECT_EQ(LastTexts(end), likeliest) << kept;
    ASSERT_EQ(end.All<job::RankNotice>().size(), 1u);
    EXPECT_NE(end.All<job::RankNotice>()[0].text.find("min_p 0.1"), std::string::npos);
  }
}

TEST_F(GeneratingRankTest, ItsMemoryIsWeightsAndACacheAsPredicted) {
  Generate();
  plan_.job.model.path = checkout::File("deploy/models/tiny");
  plan_.job.eval.prompts = {std::string(600, 'a')};
  plan_.job.eval.max_new_tokens = 400;
  for (const job::Precision precision :
       {job::Precision::k32True, job::Precision::kBf16Mixed, job::Precision::kBf16True}) {
    plan_.job.precision = precision;
    const auto inspection = data::Inspect(plan_.job);
    ASSERT_TRUE(inspection.ok()) << inspection.error().message;
    EXPECT_EQ(inspection->rows, 0);
    const auto predicted = static_cast<float>(
        job::EstimateMemory(plan_.job, *inspection, job::DeviceKind::kCpu).peak_allocated);
    const std::vector<float> peaks = Peaks(Run());
    ASSERT_FALSE(peaks.empty());
    EXPECT_LE(peaks.back(), predicted) << static_cast<int>(precision);
    EXPECT_GE(peaks.back(), 0.8F * predicted) << static_cast<int>(precision);
  }
}

}  // namespace
}  // namespace trainctl::engine_test
