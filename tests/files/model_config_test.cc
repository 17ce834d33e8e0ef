#include "worker/rank/files/model_config.h"

#include <gmock/gmock.h>

#include "tests/checkout.h"
#include "tests/files/scratch_directory.h"

namespace trainctl::files {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kSizes[] =
    R"("num_hidden_layers": 4, "hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 8, "vocab_size": 100)";

std::string Llama(const std::string& more) {
  return R"({"architectures": ["LlamaForCausalLM"], )" + std::string(kSizes) + more + "}";
}

job::ModelShape ShapeOf(const std::string& config) {
  auto shape = ParseModelConfig(config, "config.json");
  EXPECT_TRUE(shape.ok()) << shape.error().message;
  return shape.ok() ? *shape : job::ModelShape();
}

std::string MessageOf(const std::string& config) {
  auto shape = ParseModelConfig(config, "config.json");
  return shape.ok() ? "accepted" : shape.error().message;
}

TEST(ModelConfig, AbsentKeysHaveTransformersDefaults) {
  const job::ModelShape shape = ShapeOf(Llama(""));
  EXPECT_EQ(shape.layers, 4);
  EXPECT_EQ(shape.kv_heads, 8);
  EXPECT_EQ(shape.head_dim, 8);
  EXPECT_EQ(shape.max_positions, 2048);
  EXPECT_EQ(shape.rope_theta, 10000);
  EXPECT_EQ(shape.norm_eps, 1e-6);
  EXPECT_FALSE(shape.tied_head);
  EXPECT_EQ(shape.bos_token, 1);
  EXPECT_EQ(shape.eos_token, 2);
}

TEST(ModelConfig, TheOldDialectIsRead) {
  const job::ModelShape shape = ShapeOf(Llama(
      R"(, "num_key_value_heads": 2, "head_dim": 100, "rope_theta": 500000.0, "rope_scaling": null, "torch_dtype": "bfloat16",
         "tie_word_embeddings": true, "rms_norm_eps": 1e-05, "max_position_embeddings": 8192, "hidden_act": "silu",
         "bos_token_id": null, "eos_token_id": [7, 8], "attention_bias": false, "mlp_bias": false)"));
  EXPECT_EQ(shape.kv_heads, 2);
  EXPECT_EQ(shape.head_dim, 100);
  EXPECT_EQ(shape.rope_theta, 500000);
  EXPECT_TRUE(shape.tied_head);
  EXPECT_EQ(shape.norm_eps, 1e-5);
  EXPECT_EQ(shape.max_positions, 8192);
  EXPECT_EQ(shape.bos_token, -1);
  EXPECT_EQ(shape.eos_token, 7);
}

TEST(ModelConfig, TheNewDialectIsRead) {
  const std::string config = Llama(
      R"(, "rope_parameters": {"rope_theta": 100000, "rope_type": "default"}, "dtype": "float32")");
  EXPECT_EQ(ShapeOf(config).rope_theta, 100000);
}

TEST(ModelConfig, MistralWithoutAWindowIsLlama) {
  const std::string mistral =
      R"({"architectures": ["MistralForCausalLM"], "num_key_value_heads": 2, )" +
      std::string(kSizes);
  EXPECT_EQ(ShapeOf(mistral + R"(, "sliding_window": null})").kv_heads, 2);
  EXPECT_THAT(MessageOf(mistral + R"(, "sliding_window": 4096})"),
              HasSubstr("sliding_window: 4096: expected null"));
  EXPECT_THAT(MessageOf(mistral + "}"), HasSubstr("sliding_window: missing"));
}

TEST(ModelConfig, WhatIsNotComputedIsRefusedByName) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"(, "rope_scaling": {"rope_type": "llama3", "factor": 8.0})",
       "rope_scaling.rope_type: \"llama3\""},
      {R"(, "rope_scaling": {"type": "linear", "factor": 2.0})", "rope_scaling.type: \"linear\""},
      {R"(, "rope_parameters": {"rope_theta": 1e4, "rope_type": "yarn"})",
       "rope_parameters.rope_type: \"yarn\""},
      {R"(, "attention_bias": true)", "attention_bias: true: expected false"},
      {R"(, "mlp_bias": true)", "mlp_bias: true"},
      {R"(, "hidden_act": "gelu")", "hidden_act: \"gelu\": expected \"silu\""},
      {R"(, "sliding_window": 512)", "sliding_window: 512"},
      {R"(, "quantization_config": {"bits": 4})", "quantization_config"},
  };
  for (const auto& [more, expected] : cases) {
    EXPECT_THAT(MessageOf(Llama(more)),
                AllOf(HasSubstr("config.json: "), HasSubstr(expected), HasSubstr("not yet")))
        << more;
  }
}

TEST(ModelConfig, OtherArchitecturesAreRefusedByName) {
  EXPECT_THAT(MessageOf(R"({"architectures": ["OPTForCausalLM"]})"),
              HasSubstr("architectures: [\"OPTForCausalLM\"]"));
  EXPECT_THAT(MessageOf(R"({"model_type": "gpt2"})"), HasSubstr("model_type: \"gpt2\""));
  EXPECT_THAT(MessageOf("{}"), HasSubstr("architectures: missing"));
}

TEST(ModelConfig, ImpossibleSizesAreRefused) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"(, "num_key_value_heads": 3)", "num_key_value_heads: 3: expected a divisor"},
      {R"(, "num_key_value_heads": 0)", "num_key_value_heads: 0"},
      {R"(, "head_dim": 7)", "even"},
      {R"(, "head_dim": "8")", "head_dim: \"8\": expected an integer"},
      {R"(, "head_dim": 18446744073709551615)", "head_dim: 18446744073709551615"},
      {R"(, "rope_theta": -1)", "rope_theta: -1: expected a positive number"},
      {R"(, "tie_word_embeddings": 1)", "tie_word_embeddings: 1: expected true or false"},
      {R"(, "eos_token_id": 100)", "eos_token_id: 100"},
      {R"(, "eos_token_id": [])", "eos_token_id: []"},
  };
  for (const auto& [more, expected] : cases)
    EXPECT_THAT(MessageOf(Llama(more)), HasSubstr(expected)) << more;
}

TEST(ModelConfig, AMissingSizeIsNamed) {
  EXPECT_THAT(MessageOf(R"({"model_type": "llama", "num_hidden_layers": 1})"),
              HasSubstr("hidden_size: missing"));
}

TEST(ModelConfig, ADirectoryWithoutConfigIsNotFound) {
  const ScratchDirectory scratch;
  EXPECT_EQ(ReadModelConfig(scratch.path()).error().code, base::Code::kNotFound);
}

TEST(ModelConfig, TheShippedModelsAreRead) {
  for (const char* name : {"TinyLlama-1.1B", "CodeLlama-7b", "open_llama_3b", "open_llama_7b",
                           "open_llama_13b", "tiny"}) {
    auto shape = ReadModelConfig(checkout::File("deploy/models/" + std::string(name)));
    EXPECT_TRUE(shape.ok()) << shape.error().message;
  }
}

}  // namespace
}  // namespace trainctl::files
