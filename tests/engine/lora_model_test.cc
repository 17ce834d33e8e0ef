// A whole model with adapters against peft (tests/baselines/generate_lora.py and
// generate_families.py): logits, loss, gradients; what is saved, for peft and merged.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/checkout.h"
#include "tests/engine/model_outputs.h"
#include "worker/rank/files/model_config.h"
#include "worker/rank/files/safetensors.h"
#include "worker/rank/model/model.h"
#include "worker/rank/state/load_weights.h"
#include "worker/rank/state/save_adapter.h"
#include "worker/rank/state/save_model.h"
#include "worker/rank/strategy/strategy.h"

namespace trainctl::engine_test {
namespace {

constexpr char kPrefix[] = "base_model.model.";
const std::string kBaselines = checkout::File("tests/baselines/");

// Folders of tests/baselines.
struct Case {
  const char* base;
  const char* lora;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.base; }

class LoraModelTest : public ::testing::TestWithParam<Case> {
 protected:
  LoraModelTest()
      : base_(kBaselines + GetParam().base),
        batch_(files::SafetensorsFile::Open(base_ + "/baseline.safetensors").value()),
        adapters_(files::SafetensorsFile::Open(kBaselines + GetParam().lora +
                                               "/adapter_model.safetensors")
                      .value()),
        baseline_(
            files::SafetensorsFile::Open(kBaselines + GetParam().lora + "/baseline.safetensors")
                .value()),
        shape_(files::ReadModelConfig(base_).value()),
        inputs_(ReadTensor(batch_, "input_ids")[0]),
        targets_(ReadTensor(batch_, "targets")[0].reshape({-1})),
        folder_(std::filesystem::temp_directory_path() /
                ("lora_model_test." + std::to_string(getpid()))) {
    job_.model.path = base_;
    job_.strategy = job::StrategyKind::kSingle;
    job_.lora = job::LoraSpec{.r = 4,
                              .alpha = 6,
                              .dropout = 0.5,  // of no effect in an evaluation
                              .targets = {}};
    if (!adapters_.Find(kPrefix + std::string("lm_head.lora_A.weight")))
      job_.lora->targets = TargetsOfBlocks(shape_);
    job_.output.dir = folder_;
  }
  ~LoraModelTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<model::Model> MakeModel(const std::optional<job::LoraSpec>& lora) const {
    return std::move(
        model::MakeModel(shape_, {.max_length = inputs_.size(1), .lora = lora}).value());
  }

  // Weights of `directory`, and peft's adapters where the model has some.
  std::unique_ptr<strategy::Strategy> Load(const job::JobSpec& job, const model::Model& model,
                                           const std::string& directory) const {
    auto strategy = strategy::MakeStrategy(model.parameters(), {.job = job});
    const base::Status loaded = train::LoadPretrained(
        directory, model.parameters(), shape_.tied_head, *strategy, [](int64_t, int64_t) {});
    EXPECT_TRUE(loaded.ok()) << loaded.error().message;
    for (size_t param = 0; param < model.parameters().params.size(); ++param) {
      const ops::ParamSpec& spec = model.parameters().params[param];
      for (const ops::ParamPiece& piece : spec.pieces) {
        if (spec.adapter)
          strategy->SetRows(static_cast<ops::ParamId>(param), piece.row,
                            ReadTensor(adapters_, kPrefix + piece.name));
      }
    }
    strategy->FinishLoading();
    return strategy;
  }

  model::MicroBatch Batch(const at::Tensor& loss_sum) const {
    return {.rows = inputs_.size(0),
            .length = inputs_.size(1),
            .inputs = inputs_.reshape({-1}),
            .targets = targets_,
            .loss_sum = loss_sum,
            .grad_scale = 1 / Tokens(),
            .images = batch_.Find("images") ? ReadTensor(batch_, "images")[0] : at::Tensor()};
  }
  double Tokens() const { return CountTargets(targets_); }

  // The loss without recording.
  double Loss(const model::Model& model, ops::ParameterAccess& parameters) const {
    const at::Tensor sum = at::zeros({}, at::kDouble);
    ops::Tape silent(false);
    ops::Context context{silent, parameters, ops::AtenKernels(), model.norm_eps(), false};
    model.Loss(context, Batch(sum));
    return sum.item<double>() / Tokens();
  }

  // Counts what is told; the last word comes once the file is on the disk under its name.
  train::ByteProgress EndsBehind(const std::filesystem::path& file) {
    return [this, file](int64_t done, int64_t total) {
      EXPECT_LE(told_, done);
      EXPECT_EQ(std::filesystem::exists(file), done == total);
      told_ = done;
      total_ = total;
    };
  }

  const c10::NoGradGuard no_grad_;
  bool AdaptsHead() const { return job_.lora->targets.empty() && !shape_.tied_head; }

  int64_t told_ = -1, total_ = 0;
  std::string base_;
  files::SafetensorsFile batch_, adapters_, baseline_;
  job::ModelShape shape_;
  at::Tensor inputs_, targets_;
  std::filesystem::path folder_;
  job::JobSpec job_;
};

TEST_P(LoraModelTest, LogitsLossAndEveryGradientArePefts) {
  const auto model = MakeModel(job_.lora);
  const auto strategy = Load(job_, *model, base_);
  std::vector<at::Tensor> weights;
  for (size_t param = 0; param < model->parameters().params.size(); ++param) {
    weights.push_back(strategy->GetRows(static_cast<ops::ParamId>(param)).clone());
    const ops::ParamSpec& spec = model->parameters().params[param];
    EXPECT_EQ(spec.adapter, spec.trainable) << spec.pieces[0].name;
  }
  const ModelOutputs outputs = OutputsOf(*model, weights, Batch({}));
  const at::Tensor logits = ReadTensor(baseline_, "logits");
  ExpectNear(outputs.logits.view(logits.sizes()), logits, 1e-5, "logits");
  ExpectNear(ReadTensor(baseline_, "merged"), logits, 1e-5, "merged by peft");
  const double loss = ReadTensor(baseline_, "loss").item<double>();
  EXPECT_NEAR(outputs.loss, loss, 1e-5 * loss);
  for (const auto& [name, grad] : outputs.grads)
    ExpectNear(grad, ReadTensor(baseline_, "grad." + std::string(kPrefix) + name), 1e-5, name);
  EXPECT_EQ(outputs.grads.size(), adapters_.tensors().size());
}

TEST_P(LoraModelTest, TheAdapterIsSavedAsPeftSavesIt) {
  const auto model = MakeModel(job_.lora);
  const auto strategy = Load(job_, *model, base_);
  const base::Status saved =
      train::SaveAdapter(job_, model->parameters(), folder_.string(), *strategy,
                         EndsBehind(folder_ / "adapter_model.safetensors"));
  ASSERT_TRUE(saved.ok()) << saved.error().message;
  EXPECT_EQ(told_, total_);
  const auto file = files::SafetensorsFile::Open(folder_ / "adapter_model.safetensors").value();
  ASSERT_EQ(file.tensors().size(), adapters_.tensors().size());
  for (const files::TensorInfo& info : adapters_.tensors()) {
    const files::TensorInfo* own = file.Find(info.name);
    ASSERT_NE(own, nullptr) << info.name;
    EXPECT_EQ(own->shape, info.shape) << info.name;
    EXPECT_TRUE(std::ranges::equal(file.Bytes(*own), adapters_.Bytes(info))) << info.name;
  }
  std::ifstream config(folder_ / "adapter_config.json");
  const std::string text{std::istreambuf_iterator<char>(config), {}};
  for (const char* part : {R"("peft_type": "LORA")", R"("r": 4)", R"("lora_alpha": 6)",
                           R"("lora_dropout": 0.5)", R"("q_proj")"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
  EXPECT_EQ(text.find("lm_head") != std::string::npos, AdaptsHead());
}

TEST_P(LoraModelTest, TheMergedModelStandsAloneWithTheSameLoss) {
  const auto model = MakeModel(job_.lora);
  const auto strategy = Load(job_, *model, base_);
  const double unmerged = Loss(*model, *strategy);
  const base::Status saved = train::SaveModel(job_, model->parameters(), folder_.string(),
                                              *strategy, EndsBehind(folder_ / "model.safetensors"));
  ASSERT_TRUE(saved.ok()) << saved.error().message;
  EXPECT_EQ(told_, total_);
  job::JobSpec plain = job_;
  plain.lora = std::nullopt;
  const auto merged_model = MakeModel(std::nullopt);
  const auto merged = Load(plain, *merged_model, folder_);
  EXPECT_NEAR(Loss(*merged_model, *merged), unmerged, 1e-5 * unmerged);
  EXPECT_GT(std::abs(Loss(*merged_model, *Load(plain, *merged_model, base_)) - unmerged), 1e-2)
      << "the adapters are of no effect";
}

TEST_P(LoraModelTest, TheWholeModelIsSavedAsTransformersSavedIt) {
  job::JobSpec plain = job_;
  plain.lora = std::nullopt;
  const auto model = MakeModel(std::nullopt);
  const auto strategy = Load(plain, *model, base_);
  const base::Status saved = train::SaveModel(plain, model->parameters(), folder_.string(),
                                              *strategy, EndsBehind(folder_ / "model.safetensors"));
  ASSERT_TRUE(saved.ok()) << saved.error().message;
  const auto own = files::SafetensorsFile::Open(folder_ / "model.safetensors").value();
  const auto theirs = files::SafetensorsFile::Open(base_ + "/model.safetensors").value();
  EXPECT_EQ(own.tensors().size(), theirs.tensors().size());
  for (const files::TensorInfo& info : theirs.tensors()) {
    const files::TensorInfo* ours = own.Find(info.name);
    ASSERT_NE(ours, nullptr) << info.name;
    EXPECT_EQ(ours->shape, info.shape) << info.name;
    EXPECT_TRUE(std::ranges::equal(own.Bytes(*ours), theirs.Bytes(info))) << info.name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, LoraModelTest,
    ::testing::Values(Case{"llama/gqa", "lora/gqa"}, Case{"llama/tied", "lora/tied"},
                      Case{"families/llama3", "families/llama3/lora"},
                      Case{"families/llama_biases", "families/llama_biases/lora"},
                      Case{"families/mistral", "families/mistral/lora"},
                      Case{"families/mistral_window", "families/mistral_window/lora"},
                      Case{"families/ministral", "families/ministral/lora"},
                      Case{"families/qwen2_window", "families/qwen2_window/lora"},
                      Case{"families/qwen3_dynamic", "families/qwen3_dynamic/lora"},
                      Case{"families/qwen2", "families/qwen2/lora"},
                      Case{"families/qwen3", "families/qwen3/lora"},
                      Case{"families/opt", "families/opt/lora"},
                      Case{"families/opt_untied", "families/opt_untied/lora"},
                      Case{"families/blip2", "families/blip2/lora"}));

// Both ViT and OPT have an fc1: peft would adapt all that end so.
TEST(LoraModel, AModuleWhoseLastWordAnotherHasTooIsNamedInFull) {
  const c10::NoGradGuard no_grad;
  const std::string base = kBaselines + "families/blip2";
  const auto folder = std::filesystem::temp_directory_path() /
                      ("lora_model_test.names." + std::to_string(getpid()));
  job::JobSpec job;
  job.model.path = base;
  job.strategy = job::StrategyKind::kSingle;
  job.lora = job::LoraSpec{.r = 4, .targets = {"q", "vision.up"}};
  job.output.dir = folder;
  const auto model = std::move(
      model::MakeModel(files::ReadModelConfig(base).value(), {.max_length = 16, .lora = job.lora})
          .value());
  const auto strategy = strategy::MakeStrategy(model->parameters(), {.job = job});
  const base::Status saved = train::SaveAdapter(job, model->parameters(), folder.string(),
                                                *strategy, [](int64_t, int64_t) {});
  ASSERT_TRUE(saved.ok()) << saved.error().message;
  std::ifstream config(folder / "adapter_config.json");
  const std::string text{std::istreambuf_iterator<char>(config), {}};
  EXPECT_NE(text.find(R"("vision_model.encoder.layers.1.mlp.fc1")"), std::string::npos) << text;
  EXPECT_EQ(text.find(R"("fc1")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("q_proj")"), std::string::npos) << text;
  std::filesystem::remove_all(folder);
}

int64_t Adapters(const job::ModelShape& shape, const job::LoraSpec& lora) {
  const auto model = std::move(model::MakeModel(shape, {.max_length = 64, .lora = lora}).value());
  int64_t count = 0;
  for (const ops::ParamSpec& spec : model->parameters().params)
    count += spec.trainable ? spec.numel() : 0;
  return count;
}

TEST(LoraModel, TheRecipesTrainAsManyParametersAsInLitGptAndPeft) {
  const job::ModelShape seven_b{.layers = 32,
                                .hidden = 4096,
                                .intermediate = 11008,
                                .heads = 32,
                                .kv_heads = 32,
                                .head_dim = 128,
                                .vocab = 32000};
  EXPECT_EQ(Adapters(seven_b, {.r = 32}), 81'108'992);
  EXPECT_EQ(Adapters(seven_b, {.r = 16, .targets = {"q", "v"}}), 32 * 2 * 16 * (4096 + 4096));
}

TEST(LoraModel, NamingAHeadThatIsTiedIsRefused) {
  job::ModelShape tied{.layers = 1,
                       .hidden = 64,
                       .intermediate = 64,
                       .heads = 4,
                       .kv_heads = 4,
                       .head_dim = 16,
                       .vocab = 32,
                       .tied_head = true};
  const auto model =
      model::MakeModel(tied, {.max_length = 8, .lora = job::LoraSpec{.targets = {"q", "head"}}});
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, base::Code::kInvalid);
  EXPECT_NE(model.error().message.find("lora.targets"), std::string::npos) << model.error().message;
}

TEST(LoraModel, AMatrixThatDoesNotDivideIntoBlocksOf64IsNotQuantized) {
  const job::ModelShape odd{.layers = 1,
                            .hidden = 20,
                            .intermediate = 12,
                            .heads = 2,
                            .kv_heads = 1,
                            .head_dim = 10,
                            .vocab = 32};
  const auto model =
      model::MakeModel(odd, {.max_length = 8, .lora = job::LoraSpec{}, .quantize = true});
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.error().message.find("model.layers.0.self_attn.q_proj.weight: this one has 400"),
            std::string::npos)
      << model.error().message;
}

}  // namespace
}  // namespace trainctl::engine_test
