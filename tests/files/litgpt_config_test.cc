// model_config.yaml as LitGPT 0.5.11 writes it (tests/baselines/generate_litgpt_configs.py).
#include "worker/rank/files/litgpt_config.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "common/base/file.h"
#include "tests/checkout.h"
#include "tests/files/scratch_directory.h"
#include "worker/rank/files/hf_directory.h"
#include "worker/rank/files/model_config.h"
#include "worker/rank/files/weights.h"

namespace trainctl::files {
namespace {

using testing::HasSubstr;

const std::string kBaselines = checkout::File("tests/baselines/");

std::string Yaml(const std::string& model) {
  return base::ReadFile(kBaselines + "litgpt/" + model + ".yaml", 1 << 20).value();
}

job::ModelShape LitgptShapeOf(const std::string& yaml) {
  auto shape = ParseLitGptConfig(yaml, "m.yaml");
  EXPECT_TRUE(shape.ok()) << shape.error().message;
  return shape.ok() ? *shape : job::ModelShape();
}

std::string LitgptMessageOf(const std::string& yaml) {
  auto shape = ParseLitGptConfig(yaml, "m.yaml");
  return shape.ok() ? "accepted" : shape.error().message;
}

// LitGPT's directory of the tiny model: lit_model.pth and model_config.yaml.
void WriteTiny(const ScratchDirectory& directory) {
  directory.Write("model_config.yaml", Yaml("tiny"));
  directory.Write("tokenizer.json", "{}");
  std::filesystem::copy_file(kBaselines + "pickled/litgpt/lit_model.pth",
                             directory.path() + "/lit_model.pth");
}

void ExpectEqual(const job::ModelShape& a, const job::ModelShape& b) {
  EXPECT_EQ(ModelConfigText(a), ModelConfigText(b));
}

TEST(LitGptConfig, LlamasHaveTheShapesOfTheirConfigJson) {
  for (const auto& [ours, theirs] :
       {std::pair("TinyLlama-1.1B", "tiny-llama-1.1b"), std::pair("open_llama_7b", "open_llama_7b"),
        std::pair("CodeLlama-7b", "CodeLlama-7b-hf")}) {
    ExpectEqual(LitgptShapeOf(Yaml(theirs)),
                ReadModelConfig(checkout::File("deploy/models/" + std::string(ours))).value());
  }
  EXPECT_EQ(LitgptShapeOf(Yaml("Llama-3-8B")).rope_theta, 500000);
  EXPECT_EQ(LitgptShapeOf(Yaml("Llama-3-8B")).kv_heads, 8);
}

TEST(LitGptConfig, OtherArchitecturesAreRefusedByField) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"pythia-14m", "norm_class_name: \"LayerNorm\": expected \"RMSNorm\""},
      {"Gemma-2b", "mlp_class_name: \"GemmaMLP\": expected \"LLaMAMLP\""},
      {"Mixtral-8x7B-v0.1", "mlp_class_name: \"LLaMAMoE\""},
      {"Llama-3.2-1B", "rope_adjustments: {\"factor\":32.0"},
      {"Qwen2.5-0.5B", "attn_bias: true: expected null, false or 0"},
      {"OLMo-2-1124-7B", "norm_1: false: expected true"},
      {"phi-2", "norm_class_name"},
  };
  for (const auto& [model, expected] : cases)
    EXPECT_THAT(LitgptMessageOf(Yaml(model)), HasSubstr(expected)) << model;
}

std::string With(const std::string& field, const std::string& value) {
  std::string yaml = Yaml("tiny");
  const size_t at = yaml.find("\n" + field + ": ") + field.size() + 3;
  return yaml.replace(at, yaml.find('\n', at) - at, value);
}

TEST(LitGptConfig, ASettingOfAnotherModelIsRefusedByName) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {With("parallel_residual", "true"),
       "m.yaml: parallel_residual: true: expected false; anything else is not yet supported"},
      {With("bias", "true"), "bias: true"},
      {With("rotary_percentage", "0.25"), "rotary_percentage: 0.25: expected 1"},
      {With("rope_condense_ratio", "2"), "rope_condense_ratio: 2: expected 1"},
      {With("sliding_window_size", "4096"), "sliding_window_size: 4096"},
      {With("n_query_groups", "3"), "n_query_groups: 3: expected a divisor of n_head 4"},
      {With("n_layer", "many"), "n_layer: \"many\": expected an integer"},
      {Yaml("tiny") + "unheard_of: 3\n", "unheard_of: 3: expected null, false or 0"},
      {"n_layer: 2\n",
       "norm_class_name: missing: expected \"RMSNorm\" (LitGPT's default is LayerNorm)"},
      {"n_layer: 2\nn_layer: 3\n", "m.yaml:2:1: not valid YAML: the key 'n_layer' stands twice"},
      {"a: &a [1, 2]\nb: [*a, *a\n", "m.yaml:3:1: not valid YAML"},
      {"- 1\n", "m.yaml: [1]: expected an object"},
  };
  for (const auto& [yaml, expected] : cases)
    EXPECT_THAT(LitgptMessageOf(yaml), HasSubstr(expected)) << yaml;
}

TEST(LitGptConfig, NestedAliasesEndAtTheBound) {
  std::string yaml = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string n = std::to_string(i), item = "*a" + std::to_string(i - 1);
    yaml += "a" + n + ": &a" + n + " [" + item + ", " + item + ", " + item + "]\n";
  }
  EXPECT_THAT(LitgptMessageOf(yaml), HasSubstr("more than 1000 values"));
}

TEST(LitGptConfig, ALitGptDirectoryNeedsNoConfigJson) {
  const ScratchDirectory directory;
  WriteTiny(directory);
  ExpectEqual(ReadModelConfig(directory.path()).value(),
              ReadModelConfig(kBaselines + "pickled/litgpt").value());
  const auto weights = WeightFiles::Open(directory.path());
  ASSERT_TRUE(weights.ok()) << weights.error().message;
  EXPECT_EQ(weights->Find("model.layers.1.self_attn.k_proj.weight")->shape,
            (std::vector<int64_t>{4, 8}));
}

TEST(LitGptConfig, TokenIdsAreThoseOfTheGenerationConfig) {
  const ScratchDirectory directory;
  WriteTiny(directory);
  directory.Write("generation_config.json", R"({"bos_token_id": 5, "eos_token_id": [7, 8]})");
  EXPECT_EQ(ReadModelConfig(directory.path()).value().bos_token, 5);
  EXPECT_EQ(ReadModelConfig(directory.path()).value().eos_token, 7);
  directory.Write("generation_config.json", R"({"eos_token_id": 70})");
  EXPECT_THAT(ReadModelConfig(directory.path()).error().message,
              HasSubstr("generation_config.json: eos_token_id: 70: expected"));
}

TEST(LitGptConfig, AnExportGetsAConfigJson) {
  const ScratchDirectory from, to;
  WriteTiny(from);
  auto copied = CopyCompanionFiles(from.path(), to.path(), "float32");
  ASSERT_TRUE(copied.ok()) << copied.error().message;
  EXPECT_THAT(*copied, testing::UnorderedElementsAre("config.json", "tokenizer.json"));
  ExpectEqual(ReadModelConfig(to.path()).value(), ReadModelConfig(from.path()).value());
}

}  // namespace
}  // namespace trainctl::files
