// A real pretrained model follows transformers' and peft's loss curves
// (tests/baselines/generate_curves.py). A step takes seconds on a CPU: the first steps are tested,
// and all 50 where TRAINCTL_ALL_STEPS is set; that the model is not there fails then.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "common/job/batch.h"
#include "tests/checkout.h"
#include "worker/rank/files/model_config.h"
#include "worker/rank/model/model.h"
#include "worker/rank/state/load_weights.h"
#include "worker/rank/strategy/strategy.h"

namespace trainctl::engine_test {
namespace {

using Json = nlohmann::json;

constexpr size_t kFewSteps = 6;     // warm-up, and rows that come again
constexpr double kRelative = 1e-4;  // 1.3e-5 is the largest difference of 50 steps

bool AllSteps() { return std::getenv("TRAINCTL_ALL_STEPS") != nullptr; }

at::Tensor Matrix(const Json& rows) {
  std::vector<int64_t> values;
  for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
  return at::tensor(values, at::kLong).view({static_cast<int64_t>(rows.size()), -1});
}

job::JobSpec JobOf(const Json& settings, int64_t micro) {
  const Json& optimizer = settings["optimizer"];
  job::JobSpec job;
  job.strategy = job::StrategyKind::kSingle;
  job.train.micro_batch_size = micro;
  job.train.lr_warmup_steps = settings["train"]["lr_warmup_steps"];
  job.optimizer.lr = optimizer["lr"];
  job.optimizer.weight_decay = optimizer["weight_decay"];
  if (const Json& lora = settings["lora"]; !lora.is_null()) {
    job.lora = {.r = lora["r"],
                .alpha = lora["alpha"],
                .dropout = lora["dropout"],
                .targets = lora["targets"]};
  }
  return job;
}

// What the generator starts adapters from.
at::Tensor FirstA(int64_t rows, int64_t columns, int64_t layer, int64_t target) {
  const at::Tensor i = at::arange(rows, at::kLong).unsqueeze(1),
                   j = at::arange(columns, at::kLong).unsqueeze(0);
  const at::Tensor residue = (i * 7919 + j * 104729 + 1009 * target + 31 * layer).remainder(2003);
  return (residue.to(at::kDouble) / 2003 - 0.5) * 2 / std::sqrt(static_cast<double>(columns));
}

void SetAdapters(const ops::ParameterTable& table, strategy::Strategy& strategy) {
  const std::regex form(R"(model\.layers\.(\d+)\.\w+\.(\w+)_proj\.lora_([AB])\.weight)");
  const std::vector<std::string> targets = {"q", "k", "v", "o", "gate", "up", "down"};
  for (size_t param = 0; param < table.params.size(); ++param) {
    const ops::ParamSpec& spec = table.params[param];
    if (!spec.adapter) continue;
    for (const ops::ParamPiece& piece : spec.pieces) {
      std::smatch part;
      ASSERT_TRUE(std::regex_match(piece.name, part, form)) << piece.name;
      const auto target = std::ranges::find(targets, part[2].str()) - targets.begin();
      const at::Tensor values =
          part[3] == "A" ? FirstA(piece.rows, spec.columns(), std::stoll(part[1]), target)
                         : at::zeros({piece.rows, spec.columns()});
      strategy.SetRows(static_cast<ops::ParamId>(param), piece.row, values);
    }
  }
}

class CurvesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(directory_ + "/model.safetensors")) {
      ASSERT_FALSE(AllSteps()) << "no " << directory_;
      GTEST_SKIP() << "no " << directory_ << ": deploy/example_model makes it";
    }
    std::ifstream file(checkout::File("tests/baselines/curves.json"));
    baseline_ = Json::parse(file);
    inputs_ = Matrix(baseline_["inputs"]);
    targets_ = Matrix(baseline_["targets"]);
    micro_ = baseline_["micro"];
  }

  // The loss of the step's rows before its update.
  double Step(const model::Model& model, strategy::Strategy& strategy, int64_t step,
              double lr) const {
    const int64_t first = step * micro_ % inputs_.size(0);
    const at::Tensor targets = targets_.narrow(0, first, micro_).reshape({-1}),
                     sum = at::zeros({}, at::kDouble);
    const auto tokens = static_cast<double>((targets >= 0).sum().item<int64_t>());
    strategy.BeginStep(step, lr, false);
    strategy.BeginMicroStep(0);
    ops::Tape tape(true);
    ops::Context context{tape, strategy, ops::AtenKernels(), model.norm_eps(), false};
    model.Loss(context, {.rows = micro_,
                         .length = inputs_.size(1),
                         .inputs = inputs_.narrow(0, first, micro_).reshape({-1}),
                         .targets = targets,
                         .loss_sum = sum,
                         .grad_scale = 1 / tokens});
    tape.Backward();
    strategy.FinishStep();
    return sum.item<double>() / tokens;
  }

  void ExpectCurve(const std::string& name) {
    const c10::NoGradGuard no_grad;
    const Json& curve = baseline_[name];
    const job::JobSpec job = JobOf(curve["job"], micro_);
    const job::ModelShape shape = files::ReadModelConfig(directory_).value();
    const model::ModelOptions options{.max_length = inputs_.size(1), .lora = job.lora};
    const std::unique_ptr<model::Model> model = std::move(model::MakeModel(shape, options).value());
    const auto strategy = strategy::MakeStrategy(model->parameters(), {.job = job});
    const base::Status loaded = train::LoadPretrained(
        directory_, model->parameters(), shape.tied_head, *strategy, [](int64_t, int64_t) {});
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    SetAdapters(model->parameters(), *strategy);
    strategy->FinishLoading();

    const size_t all = curve["losses"].size(), steps = AllSteps() ? all : kFewSteps;
    const job::BatchPlan batch = job::PlanBatch(job).value();
    for (size_t step = 0; step < steps; ++step) {
      const double lr =
          job::LearningRate(job, batch, static_cast<int64_t>(step), static_cast<int64_t>(all));
      EXPECT_NEAR(lr, curve["learning_rates"][step].get<double>(), 1e-12) << "step " << step;
      const auto expected = curve["losses"][step].get<double>();
      EXPECT_NEAR(Step(*model, *strategy, static_cast<int64_t>(step), lr), expected,
                  kRelative * expected)
          << "step " << step;
    }
  }

  const std::string directory_ = checkout::File("deploy/models/SmolLM2-135M");
  Json baseline_;
  at::Tensor inputs_, targets_;  // [rows, T]
  int64_t micro_ = 0;
};

TEST_F(CurvesTest, FullFineTuningOfSmolLM2FollowsTransformers) { ExpectCurve("full"); }

TEST_F(CurvesTest, LoraOfSmolLM2FollowsPeft) { ExpectCurve("lora"); }

}  // namespace
}  // namespace trainctl::engine_test
