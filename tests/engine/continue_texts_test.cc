// What every family makes of texts against transformers' generate, with and without peft's adapters
// (tests/baselines/generate_continuations.py). And a cache against the whole text again.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "common/model/model_description.h"
#include "tests/checkout.h"
#include "worker/rank/files/model_config.h"
#include "worker/rank/files/safetensors.h"
#include "worker/rank/model/continue_texts.h"
#include "worker/rank/model/model.h"
#include "worker/rank/state/load_weights.h"
#include "worker/rank/strategy/strategy.h"

namespace trainctl::engine_test {
namespace {

using nlohmann::json;
using Ids = std::vector<int32_t>;

constexpr int64_t kMostPositions = 64;
constexpr int64_t kNew = 30;

const std::string kBaselines = checkout::File("tests/baselines/");

const json& Cases() {
  static const json* const cases = [] {
    std::ifstream file(kBaselines + "continuations.json");
    return new json(json::parse(file)["cases"]);
  }();
  return *cases;
}

at::Tensor Read(const files::SafetensorsFile& file, const std::string& name) {
  const files::TensorInfo* info = file.Find(name);
  if (info == nullptr) {
    ADD_FAILURE() << name;
    return at::zeros({1});
  }
  return at::from_blob(const_cast<std::byte*>(file.Bytes(*info).data()), info->shape, at::kFloat)
      .clone();
}

std::string LoraFolder(const std::string& name) {
  return kBaselines + (name.starts_with("llama/") ? "lora/" + name.substr(6) : name + "/lora");
}

class ContinueTextsTest : public ::testing::TestWithParam<const char*> {
 protected:
  ContinueTextsTest()
      : folder_(kBaselines + GetParam()),
        case_(Cases()[GetParam()]),
        shape_(files::ReadModelConfig(folder_).value()) {
    job_.strategy = job::StrategyKind::kSingle;
    job_.optimizer.name = job::OptimizerKind::kSgd;
    continuation_ = {.max_new_tokens = kNew, .stops = case_["stops"].get<std::vector<int64_t>>()};
  }

  // Those of a cache do, where a dynamic rotation changes as a text grows.
  bool KeysKeepTheirRotation() const { return shape_.max_positions < kNew; }

  bool HasLora() const { return case_["texts"][0].contains("lora_tokens"); }

  // With peft's adapters where the job has some.
  void Load() {
    model_ = std::move(model::MakeModel(shape_, {.max_length = kMostPositions,
                                                 .lora = job_.lora,
                                                 .quantize = job_.quantize.has_value()})
                           .value());
    strategy_ = strategy::MakeStrategy(model_->parameters(), {.job = job_});
    const base::Status loaded = train::LoadPretrained(
        folder_, model_->parameters(), shape_.tied_head, *strategy_, [](int64_t, int64_t) {});
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    if (job_.lora) LoadAdapters();
    strategy_->FinishLoading();
  }

  void Adapt() {
    std::set<std::string> targets;
    for (const job::Layer& layer : job::Describe(shape_).block) {
      for (const job::Module& module : layer.modules) {
        if (!module.target.empty()) targets.emplace(module.target);
      }
    }
    if (GetParam() == std::string("llama/gqa")) targets.emplace("head");
    job_.lora = job::LoraSpec{
        .r = 4, .alpha = 6, .dropout = 0.5, .targets = {targets.begin(), targets.end()}};
  }

  std::vector<model::TextStart> Starts() const {
    std::vector<model::TextStart> starts;
    for (const json& text : case_["texts"]) {
      starts.push_back({text["prompt"].get<Ids>()});
      if (!text.contains("picture")) continue;
      const auto file = files::SafetensorsFile::Open(folder_ + "/baseline.safetensors").value();
      starts.back().image = Read(file, "images")[0][text["picture"].get<int64_t>()];
    }
    return starts;
  }

  std::vector<Ids> Continue(const std::vector<model::TextStart>& starts) {
    ops::Tape silent(false);
    ops::Context context{silent, *strategy_, ops::AtenKernels(), model_->norm_eps(), false};
    return model::ContinueTexts(*model_, shape_, context, starts, continuation_, at::kCPU);
  }

  // The likeliest token behind each text, by all of it: nothing is cached.
  Ids ContinueUncached(const model::TextStart& start) {
    Ids ids = start.ids, added;
    while (std::ssize(added) < kNew) {
      std::vector<int64_t> inputs(ids.begin(), ids.end());
      ops::Tape silent(false);
      ops::Context context{silent, *strategy_, ops::AtenKernels(), model_->norm_eps(), false};
      const at::Tensor logits = model_->Logits(
          context,
          {.rows = 1,
           .length = std::ssize(inputs),
           .inputs = at::tensor(inputs, at::kLong),
           .images = start.image.defined() ? start.image.unsqueeze(0) : at::Tensor()},
          at::tensor({std::ssize(inputs) - 1}, at::kLong));
      added.push_back(at::argmax(logits, 1).item<int32_t>());
      ids.push_back(added.back());
      if (std::ranges::count(continuation_.stops, added.back()) > 0) break;
    }
    return added;
  }

  void ExpectTokens(const char* key) {
    const std::vector<Ids> added = Continue(Starts());
    ASSERT_EQ(added.size(), case_["texts"].size());
    for (size_t text = 0; text < added.size(); ++text)
      EXPECT_EQ(added[text], case_["texts"][text][key].get<Ids>()) << "text " << text;
  }

  const c10::NoGradGuard no_grad_;
  const std::string folder_;
  const json& case_;
  const job::ModelShape shape_;
  job::JobSpec job_;
  model::Continuation continuation_;
  std::unique_ptr<model::Model> model_;
  std::unique_ptr<strategy::Strategy> strategy_;

 private:
  void LoadAdapters() {
    const auto file =
        files::SafetensorsFile::Open(LoraFolder(GetParam()) + "/adapter_model.safetensors").value();
    const auto& params = model_->parameters().params;
    for (size_t param = 0; param < params.size(); ++param) {
      for (const ops::ParamPiece& piece : params[param].pieces) {
        if (!params[param].adapter) continue;
        strategy_->SetRows(static_cast<ops::ParamId>(param), piece.row,
                           Read(file, "base_model.model." + piece.name));
      }
    }
  }
};

TEST_P(ContinueTextsTest, GreedyTokensAreThoseOfTransformers) {
  Load();
  ExpectTokens("tokens");
}

TEST_P(ContinueTextsTest, PenalizedTokensAreThoseOfTransformers) {
  Load();
  continuation_.repetition_penalty = case_["penalty"].get<double>();
  ExpectTokens("penalized_tokens");
  continuation_.temperature = 1e-6;  // nothing is left but the likeliest
  ExpectTokens("penalized_tokens");
}

TEST_P(ContinueTextsTest, TextsThatWaitForOthersAreTheSame) {
  Load();
  continuation_.temperature = 0.8;
  std::vector<int64_t> told;
  continuation_.progress = [&](int64_t tokens) { told.push_back(tokens); };
  const std::vector<Ids> together = Continue(Starts());
  continuation_.positions_at_once = 2 * kNew;
  const std::vector<Ids> apart = Continue(Starts());
  ASSERT_EQ(apart.size(), together.size());
  for (size_t text = 0; text < apart.size(); ++text) EXPECT_EQ(apart[text], together[text]) << text;
  EXPECT_LE(*std::ranges::max_element(told), std::ssize(Starts()) * kNew);
}

TEST_P(ContinueTextsTest, EachTextIsToldAsItGrowsAndOnceAsWhole) {
  Load();
  std::vector<Ids> grown(Starts().size());
  std::vector<int> ends(grown.size());
  continuation_.positions_at_once = 2 * kNew;
  continuation_.grown = [&](size_t text, const Ids& added, bool is_whole) {
    ASSERT_LT(text, grown.size());
    EXPECT_EQ(added.size(), grown[text].size() + 1);
    EXPECT_EQ(ends[text], 0);
    grown[text] = added;
    ends[text] += is_whole ? 1 : 0;
  };
  EXPECT_EQ(Continue(Starts()), grown);
  EXPECT_EQ(ends, std::vector<int>(grown.size(), 1));
}

TEST_P(ContinueTextsTest, AStopEndsAllTexts) {
  Load();
  int64_t choices = 0;
  continuation_.positions_at_once = 2 * kNew;
  continuation_.agree = [&](const at::Tensor& chosen) {
    if (++choices == 3) chosen.fill_(model::Continuation::kStop);
  };
  EXPECT_TRUE(Continue(Starts()).empty());
  EXPECT_EQ(choices, 3);
}

TEST_P(ContinueTextsTest, GreedyTokensOfAdaptersAreThoseOfPeft) {
  if (!HasLora()) GTEST_SKIP() << "the baseline has no adapters";
  Adapt();
  Load();
  ExpectTokens("lora_tokens");
}

TEST_P(ContinueTextsTest, QuantizedWeightsWithAdaptersContinueAsWithoutACache) {
  if (!HasLora()) GTEST_SKIP() << "the baseline has no adapters";
  Adapt();
  job_.quantize = job::Quantize::kNf4Dq;
  const auto quantized =
      model::MakeModel(shape_, {.max_length = kMostPositions, .lora = job_.lora, .quantize = true});
  ASSERT_TRUE(quantized) << quantized.error().message;
  Load();
  if (KeysKeepTheirRotation()) GTEST_SKIP() << "without a cache they are rotated again";
  const std::vector<model::TextStart> starts = Starts();
  const std::vector<Ids> added = Continue(starts);
  for (size_t text = 0; text < starts.size(); ++text)
    EXPECT_EQ(added[text], ContinueUncached(starts[text])) << "text " << text;
}

TEST_P(ContinueTextsTest, PositionsOneByOneGiveTheLogitsOfAllAtOnce) {
  if (KeysKeepTheirRotation()) GTEST_SKIP() << "at once they have that of the whole text";
  Load();
  const model::TextStart start = Starts().back();
  const auto length = std::ssize(start.ids);
  const std::vector<int64_t> ids(start.ids.begin(), start.ids.end());
  const at::Tensor inputs = at::tensor(ids, at::kLong), all = at::arange(length);
  const at::Tensor image = start.image.defined() ? start.image.unsqueeze(0) : at::Tensor();
  ops::Tape silent(false);
  ops::Context context{silent, *strategy_, ops::AtenKernels(), model_->norm_eps(), false};
  const at::Tensor expected = model_->Logits(
      context, {.rows = 1, .length = length, .inputs = inputs, .images = image}, all);
  // Three parts: the beginning, a piece of several positions, single ones.
  ops::KvCache cache(shape_.layers, {length});
  const int64_t begin = image.defined() ? shape_.image->queries : 2;
  std::vector<at::Tensor> parts;
  for (int64_t first = 0; first < length;) {
    const int64_t count = first == 0 ? begin : first == begin && first + 3 < length ? 3 : 1;
    cache.Begin({{0, first, count}}, at::kCPU);
    parts.push_back(model_->Logits(context,
                                   {.rows = 1,
                                    .length = count,
                                    .inputs = inputs.narrow(0, first, count),
                                    .images = first == 0 ? image : at::Tensor(),
                                    .cache = &cache},
                                   at::arange(count)));
    first += count;
  }
  EXPECT_LE((at::cat(parts) - expected).abs().max().item<double>(),
            1e-5 * expected.abs().max().item<double>());
}

TEST_P(ContinueTextsTest, ByTemperatureTheSeedDecides) {
  Load();
  const std::vector<Ids> greedy = Continue(Starts());
  continuation_.temperature = 5;
  continuation_.seed = 7;
  const std::vector<Ids> drawn = Continue(Starts());
  EXPECT_EQ(drawn, Continue(Starts()));
  EXPECT_NE(drawn, greedy);
  continuation_.seed = 8;
  EXPECT_NE(drawn, Continue(Starts()));
  continuation_.temperature = 1e-6;  // nothing is left but the likeliest
  EXPECT_EQ(Continue(Starts()), greedy);
}

INSTANTIATE_TEST_SUITE_P(Models, ContinueTextsTest,
                         ::testing::Values("llama/gqa", "llama/tied", "llama/head_dim_100",
                                           "families/llama3", "families/llama_biases",
                                           "families/mistral", "families/mistral_window",
                                           "families/ministral", "families/qwen2_window",
                                           "families/qwen3_dynamic", "families/qwen2",
                                           "families/qwen3", "families/opt", "families/opt_untied",
                                           "families/blip2"));

// Of many draws of one token, the shares are the probabilities.
TEST(ContinueTexts, DrawsFollowTheProbabilities) {
  const c10::NoGradGuard no_grad;
  const std::string folder = kBaselines + "llama/gqa";
  const job::ModelShape shape = files::ReadModelConfig(folder).value();
  const auto model = std::move(model::MakeModel(shape, {.max_length = 8}).value());
  job::JobSpec job;
  job.strategy = job::StrategyKind::kSingle;
  job.optimizer.name = job::OptimizerKind::kSgd;
  const auto strategy = strategy::MakeStrategy(model->parameters(), {.job = job});
  ASSERT_TRUE(train::LoadPretrained(folder, model->parameters(), shape.tied_head, *strategy,
                                    [](int64_t, int64_t) {})
                  .ok());
  strategy->FinishLoading();
  ops::Tape silent(false);
  ops::Context context{silent, *strategy, ops::AtenKernels(), model->norm_eps(), false};
  constexpr int64_t kDraws = 4000;
  const std::vector<model::TextStart> starts(kDraws, {.ids = {3}});
  model::Continuation one{.max_new_tokens = 1, .temperature = 0.7, .seed = 11};
  std::map<int32_t, int64_t> counts;
  for (const Ids& ids : model::ContinueTexts(*model, shape, context, starts, one, at::kCPU))
    ++counts[ids[0]];
  const at::Tensor logits =
      model->Logits(context, {.rows = 1, .length = 1, .inputs = at::tensor({3}, at::kLong)},
                    at::zeros({1}, at::kLong));
  const at::Tensor shares = at::softmax(logits[0].to(at::kDouble) / 0.7, 0);
  double squared = 0;  // χ² over all tokens: about as many as there are, ± √(2 · tokens)
  for (int64_t token = 0; token < shares.size(0); ++token) {
    const double expected = kDraws * shares[token].item<double>();
    const double off = static_cast<double>(counts[static_cast<int32_t>(token)]) - expected;
    squared += off * off / expected;
  }
  const auto tokens = static_cast<double>(shares.size(0));
  EXPECT_LT(squared, tokens + 6 * std::sqrt(2 * tokens));
}

TEST(ContinueTexts, ATextOfLearnedPositionsEndsWhereTheyDo) {
  const c10::NoGradGuard no_grad;
  const std::string folder = kBaselines + "families/opt";
  const job::ModelShape shape = files::ReadModelConfig(folder).value();
  const auto model = std::move(model::MakeModel(shape, {.max_length = kMostPositions}).value());
  job::JobSpec job;
  job.strategy = job::StrategyKind::kSingle;
  const auto strategy = strategy::MakeStrategy(model->parameters(), {.job = job});
  strategy->FinishLoading();
  ops::Tape silent(false);
  ops::Context context{silent, *strategy, ops::AtenKernels(), model->norm_eps(), false};
  const std::vector<model::TextStart> starts{{Ids(60, 5)}, {Ids(64, 5)}, {Ids(70, 5)}};
  const std::vector<Ids> added =
      model::ContinueTexts(*model, shape, context, starts, {.max_new_tokens = 30}, at::kCPU);
  EXPECT_EQ(added[0].size(), 4u);
  EXPECT_TRUE(added[1].empty());
  EXPECT_TRUE(added[2].empty());
}

}  // namespace
}  // namespace trainctl::engine_test
