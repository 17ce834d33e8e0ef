// Logits, loss, every gradient and 20 optimizer steps against Hugging Face transformers and
// torch.optim (tests/baselines/generate.py).
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "tests/checkout.h"
#include "tests/engine/held_parameters.h"
#include "worker/rank/files/model_config.h"
#include "worker/rank/files/safetensors.h"
#include "worker/rank/model/model.h"
#include "worker/rank/ops/matmul.h"
#include "worker/rank/state/load_weights.h"
#include "worker/rank/strategy/strategy.h"

namespace trainctl::engine_test {
namespace {

class Baseline {
 public:
  explicit Baseline(const std::string& name)
      : directory_(checkout::File("tests/baselines/llama/") + name),
        file_(files::SafetensorsFile::Open(directory_ + "/baseline.safetensors").value()) {}

  const std::string& directory() const { return directory_; }
  at::Tensor Get(const std::string& name) const {
    const files::TensorInfo* info = file_.Find(name);
    EXPECT_NE(info, nullptr) << name;
    const at::ScalarType type = info->dtype == files::DType::kI64 ? at::kLong : at::kFloat;
    return at::from_blob(const_cast<std::byte*>(file_.Bytes(*info).data()), info->shape, type)
        .clone();
  }
  bool Has(const std::string& name) const { return file_.Find(name) != nullptr; }

 private:
  std::string directory_;
  files::SafetensorsFile file_;
};

// Relative to the expected tensor's largest magnitude.
void ExpectNear(const at::Tensor& actual, const at::Tensor& expected, double relative,
                const std::string& what) {
  ASSERT_EQ(actual.sizes(), expected.sizes()) << what;
  EXPECT_LE((actual - expected).abs().max().item<double>(),
            relative * expected.abs().max().item<double>())
      << what;
}

class BaselineTest : public ::testing::TestWithParam<const char*> {
 protected:
  BaselineTest()
      : baseline_(GetParam()),
        shape_(files::ReadModelConfig(baseline_.directory()).value()),
        inputs_(baseline_.Get("input_ids")),
        targets_(baseline_.Get("targets")) {
    model_ = std::move(model::MakeModel(shape_, {.max_length = inputs_.size(2)}).value());
  }

  std::unique_ptr<strategy::Strategy> Load(const job::JobSpec& job) const {
    auto strategy = strategy::MakeStrategy(model_->parameters(), {.job = job});
    const base::Status loaded =
        train::LoadPretrained(baseline_.directory(), model_->parameters(), shape_.tied_head,
                              *strategy, [](int64_t, int64_t) {});
    EXPECT_TRUE(loaded.ok()) << loaded.error().message;
    strategy->FinishLoading();
    return strategy;
  }

  model::MicroBatch Batch(int64_t step, const at::Tensor& loss_sum) const {
    const at::Tensor targets = targets_[step].reshape({-1});
    return {.rows = inputs_.size(1),
            .length = inputs_.size(2),
            .inputs = inputs_[step].reshape({-1}),
            .targets = targets,
            .loss_sum = loss_sum,
            .grad_scale = 1 / Tokens(step)};
  }
  double Tokens(int64_t step) const {
    return static_cast<double>((targets_[step] >= 0).sum().item<int64_t>());
  }

  static job::JobSpec Job(job::Precision precision, job::OptimizerKind optimizer) {
    job::JobSpec spec;
    spec.strategy = job::StrategyKind::kSingle;
    spec.precision = precision;
    spec.optimizer.name = optimizer;
    spec.optimizer.weight_decay = 0.01;
    spec.optimizer.momentum = optimizer == job::OptimizerKind::kSgd ? 0.9 : 0;
    return spec;
  }

  // The loss before each update.
  at::Tensor TrainLosses(const job::JobSpec& job, strategy::Strategy& strategy) const {
    const double lr = job.optimizer.name == job::OptimizerKind::kSgd ? 0.005 : 1e-3;
    std::vector<double> losses;
    for (int64_t step = 0; step < inputs_.size(0); ++step) {
      const at::Tensor sum = at::zeros({}, at::kDouble);
      strategy.BeginStep(step, lr, false);
      strategy.BeginMicroStep(0);
      ops::Tape tape(true);
      ops::Context context{tape, strategy, ops::AtenKernels(), model_->norm_eps(), false};
      model_->Loss(context, Batch(step, sum));
      tape.Backward();
      strategy.FinishStep();
      losses.push_back(sum.item<double>() / Tokens(step));
    }
    return at::tensor(losses, at::kDouble).to(at::kFloat);
  }

  const c10::NoGradGuard no_grad_;
  Baseline baseline_;
  job::ModelShape shape_;
  at::Tensor inputs_, targets_;
  std::unique_ptr<model::Model> model_;
};

TEST_P(BaselineTest, LogitsLossAndEveryGradientAgree) {
  const auto strategy = Load(Job(job::Precision::k32True, job::OptimizerKind::kSgd));
  std::vector<at::Tensor> weights;
  for (size_t i = 0; i < model_->parameters().params.size(); ++i)
    weights.push_back(strategy->GetRows(static_cast<ops::ParamId>(i)).clone());
  HeldParameters parameters(weights);
  const at::Tensor sum = at::zeros({}, at::kDouble);

  ops::Tape silent(false);
  ops::Context forward_only{silent, parameters, ops::AtenKernels(), model_->norm_eps(), false};
  const at::Tensor hidden = model_->Hidden(forward_only, Batch(0, sum)).value;
  const auto find = [&](const std::string& name) {
    for (size_t i = 0; i < weights.size(); ++i) {
      if (model_->parameters().params[i].pieces[0].name == name) return weights[i];
    }
    return at::Tensor();
  };
  const at::Tensor normalized =
      ops::AtenKernels().RmsNorm(hidden, find("model.norm.weight"), model_->norm_eps()).first;
  const at::Tensor head = find(shape_.tied_head ? "model.embed_tokens.weight" : "lm_head.weight");
  ExpectNear(ops::Linear(normalized, head).view(baseline_.Get("logits").sizes()),
             baseline_.Get("logits"), 1e-5, "logits");

  ops::Tape tape(true);
  ops::Context context{tape, parameters, ops::AtenKernels(), model_->norm_eps(), false};
  model_->Loss(context, Batch(0, sum));
  tape.Backward();
  EXPECT_TRUE(parameters.AllUnitsClosed());
  EXPECT_NEAR(sum.item<double>() / Tokens(0), baseline_.Get("loss").item<double>(),
              1e-5 * baseline_.Get("loss").item<double>());
  for (size_t i = 0; i < weights.size(); ++i) {
    for (const ops::ParamPiece& piece : model_->parameters().params[i].pieces) {
      ExpectNear(parameters.grad(static_cast<ops::ParamId>(i)).narrow(0, piece.row, piece.rows),
                 baseline_.Get("grad." + piece.name), 1e-5, piece.name);
    }
  }
}

struct Course {
  const char* name;
  job::OptimizerKind optimizer;
};
constexpr Course kCourses[] = {{"adamw", job::OptimizerKind::kAdamW},
                               {"sgd", job::OptimizerKind::kSgd}};

TEST_P(BaselineTest, TwentyStepsInFp32FollowTorchOptim) {
  for (const Course& course : kCourses) {
    const job::JobSpec job = Job(job::Precision::k32True, course.optimizer);
    const auto strategy = Load(job);
    const std::string prefix = std::string(course.name) + ".fp32.";
    ExpectNear(TrainLosses(job, *strategy), baseline_.Get(prefix + "losses"), 1e-4,
               prefix + "losses");
    int compared = 0;
    for (size_t i = 0; i < model_->parameters().params.size(); ++i) {
      for (const ops::ParamPiece& piece : model_->parameters().params[i].pieces) {
        if (!baseline_.Has(prefix + "final." + piece.name)) continue;
        const at::Tensor actual =
            strategy->GetRows(static_cast<ops::ParamId>(i)).narrow(0, piece.row, piece.rows);
        const at::Tensor off =
            (actual - baseline_.Get(prefix + "final." + piece.name)).abs() > 1e-4;
        // AdamW divides by a gradient's own magnitude: an element whose gradient is rounding noise
        // may move either way.
        EXPECT_LE(off.sum().item<int64_t>(),
                  course.optimizer == job::OptimizerKind::kAdamW ? off.numel() / 200 : 0)
            << piece.name;
        ++compared;
      }
    }
    EXPECT_GT(compared, 0);
  }
}

TEST_P(BaselineTest, TwentyStepsInMixedPrecisionFollowTorchOptim) {
  for (const Course& course : kCourses) {
    const job::JobSpec job = Job(job::Precision::kBf16Mixed, course.optimizer);
    const auto strategy = Load(job);
    const at::Tensor expected = baseline_.Get(std::string(course.name) + ".bf16-mixed.losses");
    EXPECT_LE((TrainLosses(job, *strategy) - expected).abs().max().item<double>(), 0.05)
        << course.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, BaselineTest, ::testing::Values("gqa", "tied", "head_dim_100"));

}  // namespace
}  // namespace trainctl::engine_test
