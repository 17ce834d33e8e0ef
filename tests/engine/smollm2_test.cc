// The loss of a real pretrained model on fixed rows against transformers'
// (tests/baselines/generate_smollm2.py).
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/checkout.h"
#include "worker/rank/files/model_config.h"
#include "worker/rank/model/model.h"
#include "worker/rank/state/load_weights.h"
#include "worker/rank/strategy/strategy.h"

namespace trainctl::engine_test {
namespace {

at::Tensor Matrix(const nlohmann::json& rows) {
  std::vector<int64_t> values;
  for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
  return at::tensor(values, at::kLong);
}

TEST(SmolLM2, LossOnFixedRowsAgreesWithTransformers) {
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
      std::move(model::MakeModel(shape, {.max_length = length}).value());
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
}

}  // namespace
}  // namespace trainctl::engine_test
