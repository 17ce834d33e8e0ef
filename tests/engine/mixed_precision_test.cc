// Each family in bf16-mixed, whole and with adapters, beside transformers' and peft's own. Why the
// weights and rows are as they are is said in tests/baselines/generate_mixed.py.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/checkout.h"
#include "tests/engine/model_outputs.h"
#include "worker/rank/files/model_config.h"
#include "worker/rank/state/load_adapter.h"
#include "worker/rank/state/load_weights.h"
#include "worker/rank/strategy/strategy.h"

namespace trainctl::engine_test {
namespace {

// How near ours is to theirs, in distances of an fp32 run from theirs; how far that is at least, of
// what is compared. On the average, and of each matrix, an fp32 run does not pass. Of one vector
// less can be said: it is the sum of a column, which torch adds up in bf16.
constexpr double kFarthestMean = 0.45, kFarthest = 0.96, kFarthestVector = 1.2;
constexpr double kLeastOfFp32 = 0.0002;
// How much arithmetic in bf16 changes, beside what it changes in theirs: on the average, and of the
// logits. In fp32 it is nothing.
constexpr double kShortestMean = 0.2, kLongestMean = 2.6, kShortestLogits = 0.7,
                 kLongestLogits = 1.3;
// Softmax does not see what is added to all keys: a bias of theirs has no gradient but rounding.
constexpr double kNoGradient = 1e-6;

// Folders of tests/baselines.
struct Case {
  std::string model;
  std::string adapters = {};  // "": all is trained
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << (one.adapters.empty() ? one.model : one.adapters);
}

std::string InBaselines(const std::string& folder) {
  return checkout::File("tests/baselines/" + folder);
}

files::SafetensorsFile MixedFile(const std::string& folder) {
  return files::SafetensorsFile::Open(InBaselines(folder) + "/mixed.safetensors").value();
}

// As generate_mixed.py: of the same size and sign, and no number of bf16.
at::Tensor Between(const at::Tensor& fp32) {
  return fp32.contiguous().view(at::kInt).bitwise_and(~0x7FFFFF).bitwise_or(0x7000).view(
      at::kFloat);
}

double Norm(const at::Tensor& tensor) { return tensor.to(at::kDouble).norm().item<double>(); }

double Distance(const at::Tensor& one, const at::Tensor& other) {
  return Norm(one.to(at::kDouble) - other.to(at::kDouble));
}

using Outputs = std::map<std::string, at::Tensor>;  // by their names in the file

class MixedPrecisionTest : public ::testing::TestWithParam<Case> {
 protected:
  MixedPrecisionTest()
      : rows_(MixedFile(GetParam().model)),
        theirs_(MixedFile(GetParam().adapters.empty() ? GetParam().model : GetParam().adapters)),
        shape_(files::ReadModelConfig(InBaselines(GetParam().model)).value()) {
    if (!GetParam().adapters.empty()) job_.lora = Adapters();
    job_.strategy = job::StrategyKind::kSingle;
    inputs_ = ReadTensor(rows_, "input_ids");
    targets_ = ReadTensor(rows_, "targets");
    if (rows_.Find("images") != nullptr) images_ = ReadTensor(rows_, "images").to(at::kFloat);
    model_ = std::move(
        model::MakeModel(shape_, {.max_length = inputs_.size(2), .lora = job_.lora}).value());
    Load();
  }

  // Of all that the folder has adapters of.
  job::LoraSpec Adapters() const {
    job::LoraSpec lora{.r = 4, .alpha = 6, .dropout = 0};
    const auto adapts_head = theirs_.Find("grad.base_model.model.lm_head.lora_A.weight");
    if (adapts_head != nullptr) return lora;
    lora.targets = TargetsOfBlocks(shape_);
    return lora;
  }

  void Load() {
    const auto strategy = strategy::MakeStrategy(model_->parameters(), {.job = job_});
    const base::Status loaded =
        train::LoadPretrained(InBaselines(GetParam().model), model_->parameters(), shape_.tied_head,
                              *strategy, [](int64_t, int64_t) {});
    EXPECT_TRUE(loaded.ok()) << loaded.error().message;
    if (job_.lora) {
      const base::Status adapted =
          train::LoadAdapter(InBaselines(GetParam().adapters), model_->parameters(), *strategy);
      EXPECT_TRUE(adapted.ok()) << adapted.error().message;
    }
    strategy->FinishLoading();
    for (size_t param = 0; param < model_->parameters().params.size(); ++param)
      weights_.push_back(Between(strategy->GetRows(static_cast<ops::ParamId>(param))));
  }

  model::MicroBatch Batch(int64_t i) const {
    const int64_t rows = inputs_.size(1);
    model::MicroBatch batch{.rows = rows,
                            .length = inputs_.size(2),
                            .inputs = inputs_[i].reshape({-1}),
                            .targets = targets_[i].reshape({-1})};
    if (images_.defined()) batch.images = images_.roll(-rows * i, 0).narrow(0, 0, rows);
    return batch;
  }

  // In the arithmetic of the one type, with weights rounded to the other. In fp32 alone without
  // what has no gradient.
  Outputs Ours(at::ScalarType type, at::ScalarType rounding) const {
    std::vector<at::Tensor> weights;
    for (const at::Tensor& weight : weights_) weights.push_back(weight.to(rounding).to(type));
    const std::string prefix = job_.lora ? "grad.base_model.model." : "grad.";
    Outputs ours;
    std::vector<double> losses;
    for (int64_t i = 0; i < inputs_.size(0); ++i) {
      const ModelOutputs outputs = OutputsOf(*model_, weights, Batch(i));
      losses.push_back(outputs.loss);
      if (i == 0) ours["logits"] = outputs.logits;
      for (const auto& [name, grad] : outputs.grads) {
        at::Tensor& sum = ours[prefix + name];
        sum = sum.defined() ? sum + grad.to(at::kDouble) : grad.to(at::kDouble);
      }
    }
    for (auto& [name, sum] : ours) {
      if (name != "logits") sum.div_(inputs_.size(0));
    }
    if (type == at::kFloat) {
      std::erase_if(ours, [](const auto& named) {
        return named.second.abs().max().template item<double>() < kNoGradient;
      });
    }
    ours["logits"] = ours["logits"].view(ReadTensor(theirs_, "logits").sizes());
    ours["losses"] = at::tensor(losses, at::kDouble);
    return ours;
  }

  const c10::NoGradGuard no_grad_;
  files::SafetensorsFile rows_, theirs_;
  job::ModelShape shape_;
  job::JobSpec job_;
  at::Tensor inputs_, targets_, images_;
  std::unique_ptr<model::Model> model_;
  std::vector<at::Tensor> weights_;
};

TEST_P(MixedPrecisionTest, LogitsLossesAndEveryGradientAreNearerToTheirsThanFp32s) {
  const Outputs fp32 = Ours(at::kFloat, at::kFloat), mixed = Ours(at::kBFloat16, at::kBFloat16);
  const size_t inputs = job_.lora ? 0 : images_.defined() ? 3 : 2;
  EXPECT_EQ(mixed.size(), theirs_.tensors().size() - inputs);
  double sum = 0;
  for (const auto& [name, exact] : fp32) {
    const at::Tensor theirs = ReadTensor(theirs_, name);
    const double of_fp32 = Distance(exact, theirs), ours = Distance(mixed.at(name), theirs);
    EXPECT_GT(of_fp32, kLeastOfFp32 * Norm(theirs)) << name;
    const bool is_vector = exact.dim() == 1 && name != "losses";
    EXPECT_LE(ours, (is_vector ? kFarthestVector : kFarthest) * of_fp32) << name;
    sum += ours / of_fp32;
  }
  EXPECT_LE(sum / static_cast<double>(fp32.size()), kFarthestMean);
}

TEST_P(MixedPrecisionTest, ItsArithmeticRoundsAsMuchAsTheirs) {
  const Outputs mixed = Ours(at::kBFloat16, at::kBFloat16);
  const Outputs rounded = Ours(at::kFloat, at::kBFloat16);  // weights alone
  const auto length = [&](const std::string& name) {
    const at::Tensor& exact = rounded.at(name);
    return Distance(mixed.at(name), exact) / Distance(ReadTensor(theirs_, name), exact);
  };
  EXPECT_GE(length("logits"), kShortestLogits);
  EXPECT_LE(length("logits"), kLongestLogits);
  double sum = 0;
  for (const auto& [name, exact] : rounded) sum += length(name);
  EXPECT_GE(sum / static_cast<double>(rounded.size()), kShortestMean);
  EXPECT_LE(sum / static_cast<double>(rounded.size()), kLongestMean);
}

std::vector<Case> Cases() {
  std::vector<Case> cases = {{"llama/gqa"},
                             {"llama/tied"},
                             {"llama/head_dim_100"},
                             {"llama/gqa", "lora/gqa"},
                             {"llama/tied", "lora/tied"}};
  for (const std::string family :
       {"llama3", "llama_biases", "mistral", "mistral_window", "ministral", "qwen2_window",
        "qwen3_dynamic", "qwen2", "qwen3", "opt", "opt_untied", "blip2"}) {
    cases.push_back({"families/" + family});
    cases.push_back({"families/" + family, "families/" + family + "/lora"});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Models, MixedPrecisionTest, ::testing::ValuesIn(Cases()));

}  // namespace
}  // namespace trainctl::engine_test
