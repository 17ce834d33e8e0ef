// The loss of a real pretrained model on fixed rows, and what it makes of their texts, against
// transformers' (tests/baselines/generate_smollm2.py).
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/checkout.h"
#include "worker/rank/files/model_config.h"
#include "worker/rank/model/continue_texts.h"
#include "worker/rank/model/model.h"
#include "worker/rank/state/load_weights.h"
#include "worker/rank/strategy/strategy.h"

namespace trainctl::engine_test {
namespace {

constexpr int64_t kMostNew = 16;

at::Tensor Matrix(const nlohmann::json& rows) {
  std::vector<int64_t> values;
  for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
  return at::tensor(values, at::kLong);
}

TEST(SmolLM2, LossAndContinuationsOfFixedRowsAgreeWithTransformers) {
  const std::string directory = checkout::File("deploy/models/SmolLM2-135M");
  if (!std::filesystem::exists(directory + "/model.safetensors"))
    GTEST_SKIP() << "no " << directory << ": deploy/example_model makes it";
  std::ifstream file(checkout::File("tests/baselines/smollm2.json"));
  const nlohmann::json baseline = nlohmann::json::parse(file);
  const auto rows = static_cast<int64_t>(baseline["inputs"].size()),
             length = static_cast<int64_t>(baseline["inputs"][0].size());

  const c10::NoGradGuard no_grad;
  const job::ModelShape shape = files::ReadModelConfig(directory).value();
  const std::unique_ptr<model::Model> model =
      std::move(model::MakeModel(shape, {.max_length = 2 * length + kMostNew}).value());
  job::JobSpec spec;
  spec.strategy = job::StrategyKind::kSingle;
  spec.optimizer.name = job::OptimizerKind::kSgd;  // no state
  const auto strategy = strategy::MakeStrategy(model->parameters(), {.job = spec});
  const base::Status loaded = train::LoadPretrained(directory, model->parameters(), shape.tied_head,
                                                    *strategy, [](int64_t, int64_t) {});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  strategy->FinishLoading();

  const at::Tensor inputs = Matrix(baseline["inputs"]), targets = Matrix(baseline["targets"]);
  const at::Tensor sum = at::zeros({}, at::kDouble);
  ops::Tape silent(false);
  ops::Context context{silent, *strategy, ops::AtenKernels(), model->norm_eps(), false};
  model->Loss(
      context,
      {.rows = rows, .length = length, .inputs = inputs, .targets = targets, .loss_sum = sum});
  const double loss =
      sum.item<double>() / static_cast<double>((targets >= 0).sum().item<int64_t>());
  EXPECT_NEAR(loss, baseline["loss"].get<double>(), 1e-4);

  std::vector<model::TextStart> starts;
  for (int64_t row = 0; row < rows; ++row) {
    starts.push_back({baseline["inputs"][row].get<std::vector<int32_t>>()});
    starts.back().ids.resize(baseline["lengths"][row].get<size_t>());
  }
  const auto added =
      model::ContinueTexts(*model, shape, context, starts,
                           {.max_new_tokens = kMostNew, .stops = {shape.eos_token}}, at::kCPU);
  for (int64_t row = 0; row < rows; ++row)
    EXPECT_EQ(added[row], baseline["continuations"][row].get<std::vector<int32_t>>()) << row;
}

}  // namespace
}  // namespace trainctl::engine_test
