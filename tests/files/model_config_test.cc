#include "worker/rank/files/model_config.h"

#include <gmock/gmock.h>

#include "common/model/model_description.h"
#include "tests/checkout.h"
#include "tests/files/scratch_directory.h"

namespace trainctl::files {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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

std::string Of(const std::string& architecture, const std::string& more) {
  return R"({"architectures": [")" + architecture + R"("], )" + std::string(kSizes) + more + "}";
}

TEST(ModelConfig, MistralHasAWindowUnlessItIsNull) {
  const std::string mistral = "MistralForCausalLM";
  const job::ModelShape absent = ShapeOf(Of(mistral, ""));
  EXPECT_EQ(absent.family, "mistral");
  EXPECT_EQ(absent.sliding_window, 4096);
  EXPECT_EQ(absent.kv_heads, 8);
  EXPECT_EQ(absent.max_positions, 131072);
  EXPECT_EQ(ShapeOf(Of(mistral, R"(, "sliding_window": null)")).sliding_window, 0);
  EXPECT_EQ(ShapeOf(Of(mistral, R"(, "sliding_window": 512)")).sliding_window, 512);
  EXPECT_EQ(ShapeOf(Of(mistral, R"(, "num_key_value_heads": null)")).kv_heads, 8);
}

TEST(ModelConfig, Qwen2HasBiasesOfQKAndV) {
  const job::ModelShape shape =
      ShapeOf(Of("Qwen2ForCausalLM",
                 R"(, "num_key_value_heads": 2, "rope_theta": 1000000.0, "sliding_window": 32768,
                    "use_sliding_window": false, "max_window_layers": 28)"));
  EXPECT_EQ(shape.family, "qwen2");
  EXPECT_TRUE(shape.qkv_bias);
  EXPECT_FALSE(shape.out_bias || shape.mlp_bias || shape.head_norms);
  EXPECT_EQ(shape.sliding_window, 0);
  EXPECT_EQ(shape.bos_token, -1);
  EXPECT_EQ(shape.max_positions, 32768);
}

TEST(ModelConfig, Qwen3HasNormsOfHeadsAndAHeadDimOfItsOwn) {
  const std::string qwen3 = "Qwen3ForCausalLM", kv = R"(, "num_key_value_heads": 2)";
  const job::ModelShape shape = ShapeOf(Of(qwen3, kv));
  EXPECT_TRUE(shape.head_norms);
  EXPECT_FALSE(shape.qkv_bias);
  EXPECT_EQ(shape.head_dim, 128);
  const job::ModelShape biased = ShapeOf(Of(qwen3, kv + R"(, "attention_bias": true)"));
  EXPECT_TRUE(biased.qkv_bias && biased.out_bias);
}

TEST(ModelConfig, AWindowOfQwenIsInUseWhereTheConfigurationSaysSo) {
  const std::string kv = R"(, "num_key_value_heads": 2, "use_sliding_window": true)";
  const auto of = [&](const std::string& more) {
    return ShapeOf(Of("Qwen2ForCausalLM", kv + more));
  };
  EXPECT_EQ(of("").sliding_window, 0) << "max_window_layers is 28, and there are fewer";
  EXPECT_EQ(of(R"(, "max_window_layers": 0)").sliding_window, 4096);
  EXPECT_THAT(of(R"(, "max_window_layers": 0)").full_layers, IsEmpty());
  EXPECT_EQ(of(R"(, "max_window_layers": 0, "sliding_window": null)").sliding_window, 0);
  EXPECT_THAT(of(R"(, "max_window_layers": 1)").full_layers, ElementsAre(0));
  EXPECT_EQ(of(R"(, "max_window_layers": 1)").WindowOf(0), 0);
  EXPECT_EQ(of(R"(, "max_window_layers": 1)").WindowOf(1), 4096);
}

// Of four layers, by their initials.
std::string LayerTypes(const std::string& initials) {
  std::string types;
  for (const char initial : initials) {
    types += types.empty() ? "" : ", ";
    types += initial == 's' ? R"("sliding_attention")" : R"("full_attention")";
  }
  return R"(, "layer_types": [)" + types + "]";
}

TEST(ModelConfig, TheTypesOfLayersSayWhichHaveTheWindow) {
  const std::string qwen = "Qwen3ForCausalLM", kv = R"(, "num_key_value_heads": 2)",
                    use = kv + R"(, "use_sliding_window": true)";
  EXPECT_THAT(ShapeOf(Of(qwen, use + LayerTypes("fsfs"))).full_layers, ElementsAre(0, 2));
  EXPECT_THAT(ShapeOf(Of(qwen, use + LayerTypes("sfff"))).full_layers, ElementsAre(1, 2, 3));
  EXPECT_EQ(ShapeOf(Of(qwen, use + LayerTypes("ffff"))).sliding_window, 0);
  EXPECT_EQ(ShapeOf(Of(qwen, kv + LayerTypes("ffff"))).sliding_window, 0);
  for (const std::string& wrong : {kv + LayerTypes("fsfs"), use + LayerTypes("fff"),
                                   kv + R"(, "layer_types": ["chunked_attention", 1, 2, 3])"})
    EXPECT_THAT(MessageOf(Of(qwen, wrong)), HasSubstr("layer_types")) << wrong;
}

// transformers' AutoModel takes a Mistral with such types for Ministral, which obeys them.
TEST(ModelConfig, TheTypesOfMistralsLayersAreObeyed) {
  const auto mistral = [](const std::string& more) {
    return Of("MistralForCausalLM", R"(, "num_key_value_heads": 2)" + more);
  };
  const std::string no_window = R"(, "sliding_window": null)";
  EXPECT_THAT(ShapeOf(mistral(LayerTypes("fsss"))).full_layers, ElementsAre(0));
  EXPECT_EQ(ShapeOf(mistral(LayerTypes("ssss"))).sliding_window, 4096);
  EXPECT_THAT(ShapeOf(mistral(LayerTypes("ssss"))).full_layers, IsEmpty());
  EXPECT_EQ(ShapeOf(mistral(LayerTypes("ffff"))).sliding_window, 0);
  EXPECT_EQ(ShapeOf(mistral(no_window + LayerTypes("ffff"))).sliding_window, 0);
  EXPECT_THAT(MessageOf(mistral(no_window + LayerTypes("fsff"))), HasSubstr("layer_types"));
}

TEST(ModelConfig, MinistralIsReadAsAMistralWhoseLayersMayDiffer) {
  const auto ministral = [](const std::string& more) {
    return ShapeOf(Of("MinistralForCausalLM", R"(, "num_key_value_heads": 2)" + more));
  };
  EXPECT_EQ(ministral("").family, "ministral");
  EXPECT_EQ(ministral("").sliding_window, 4096);
  EXPECT_EQ(ministral("").max_positions, 131072);
  EXPECT_THAT(ministral(LayerTypes("fsss")).full_layers, ElementsAre(0));
  EXPECT_EQ(ministral(R"(, "sliding_window": null)").sliding_window, 0);
}

TEST(ModelConfig, BiasesOfLlamaAreRead) {
  const job::ModelShape shape = ShapeOf(Llama(R"(, "attention_bias": true, "mlp_bias": true)"));
  EXPECT_TRUE(shape.qkv_bias && shape.out_bias && shape.mlp_bias);
}

TEST(ModelConfig, RotaryScalingIsReadInBothDialects) {
  const std::string values =
      R"("factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
         "original_max_position_embeddings": 8192, "rope_type": "llama3")";
  const job::ModelShape old_dialect =
      ShapeOf(Llama(R"(, "rope_theta": 500000.0, "rope_scaling": {)" + values + "}"));
  const job::ModelShape new_dialect =
      ShapeOf(Llama(R"(, "rope_parameters": {"rope_theta": 500000.0, )" + values + "}"));
  EXPECT_EQ(old_dialect.rope_theta, 500000);
  EXPECT_EQ(
      old_dialect.rope_scaling,
      (job::RopeScaling{.type = job::RopeType::kLlama3, .factor = 8, .original_positions = 8192}));
  EXPECT_EQ(new_dialect.rope_theta, 500000);
  EXPECT_EQ(new_dialect.rope_scaling, old_dialect.rope_scaling);
}

TEST(ModelConfig, OriginalPositionsBesideTheScalingGoBeforeThoseInIt) {
  const auto positions = [](const std::string& in, const std::string& beside) {
    return ShapeOf(Llama(R"(, "rope_scaling": {"rope_type": "yarn", "factor": 4.0)" + in + "}" +
                         beside))
        .rope_scaling->original_positions;
  };
  const std::string in = R"(, "original_max_position_embeddings": 64)",
                    beside = R"(, "original_max_position_embeddings": 32)";
  EXPECT_EQ(positions(in, ""), 64);
  EXPECT_EQ(positions("", beside), 32);
  EXPECT_EQ(positions(in, beside), 32);
}

TEST(ModelConfig, BothDialectsOfRotaryScalingMustSayTheSame) {
  const std::string old_dialect = R"(, "rope_scaling": {"rope_type": "linear", "factor": 4.0})";
  EXPECT_EQ(ShapeOf(Llama(old_dialect + R"(, "rope_parameters": {"rope_type": "linear",
                                           "factor": 4.0})"))
                .rope_scaling->factor,
            4);
  EXPECT_THAT(MessageOf(Llama(old_dialect + R"(, "rope_parameters": {"rope_theta": 1e6})")),
              HasSubstr("rope_scaling and rope_parameters differ"));
}

TEST(ModelConfig, YarnTakesItsTemperatureFromTheFactorUnlessItIsGiven) {
  const auto yarn = [](const std::string& more) {
    return *ShapeOf(Llama(R"(, "rope_scaling": {"type": "yarn", "factor": 4.0)" + more + "}"))
                .rope_scaling;
  };
  EXPECT_EQ(yarn("").original_positions, 2048) << "max_position_embeddings";
  EXPECT_NEAR(yarn("").attention_factor, 1.13863, 1e-5);
  EXPECT_EQ(yarn(R"(, "attention_factor": 1.25)").attention_factor, 1.25);
  EXPECT_NEAR(yarn(R"(, "mscale": 1.0, "mscale_all_dim": 0.5)").attention_factor, 1.06483, 1e-5);
}

TEST(ModelConfig, WhatIsNotComputedIsRefusedByName) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"(, "rope_scaling": {"type": "longrope", "factor": 2.0})",
       "rope_scaling.type: \"longrope\""},
      {R"(, "rope_parameters": {"rope_theta": 1e4, "rope_type": "mrope"})",
       "rope_parameters.rope_type: \"mrope\""},
      {R"(, "attention_dropout": 0.1)", "attention_dropout: 0.1"},
      {R"(, "layer_types": ["chunked_attention"])", "layer_types: [\"chunked_attention\"]"},
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
  EXPECT_THAT(MessageOf(R"({"architectures": ["BloomForCausalLM"]})"),
              AllOf(HasSubstr("architectures: [\"BloomForCausalLM\"]"),
                    HasSubstr("[\"Qwen3ForCausalLM\"], [\"OPTForCausalLM\"], "
                              "[\"Blip2ForConditionalGeneration\"]")));
  EXPECT_THAT(MessageOf(R"({"model_type": "gpt2"})"), HasSubstr("model_type: \"gpt2\""));
  EXPECT_THAT(MessageOf("{}"), HasSubstr("architectures: missing"));
}

std::string OptConfig(const std::string& more) {
  return R"({"architectures": ["OPTForCausalLM"], "num_hidden_layers": 4, "hidden_size": 64,
             "ffn_dim": 96, "num_attention_heads": 8, "vocab_size": 100)" +
         more + "}";
}

TEST(ModelConfig, OptIsReadByItsOwnKeys) {
  const job::ModelShape shape =
      ShapeOf(OptConfig(R"(, "word_embed_proj_dim": 64, "do_layer_norm_before": true,
                       "max_position_embeddings": 512, "dropout": 0.25, "attention_dropout": 0.0,
                       "activation_function": "relu", "eos_token_id": 3)"));
  EXPECT_EQ(shape.family, "opt");
  EXPECT_EQ(shape.intermediate, 96);
  EXPECT_EQ(shape.head_dim, 8);
  EXPECT_EQ(shape.kv_heads, 8);
  EXPECT_EQ(shape.max_positions, 512);
  EXPECT_EQ(shape.dropout, 0.25);
  EXPECT_EQ(shape.norm_eps, 1e-5);
  EXPECT_EQ(shape.eos_token, 3);
}

TEST(ModelConfig, AbsentKeysOfOptAreThoseOfItsSmallestModel) {
  const job::ModelShape shape = ShapeOf(R"({"model_type": "opt"})");
  EXPECT_EQ(shape.layers, 12);
  EXPECT_EQ(shape.hidden, 768);
  EXPECT_EQ(shape.vocab, 50272);
  EXPECT_EQ(shape.max_positions, 2048);
  EXPECT_EQ(shape.dropout, 0.1);
  EXPECT_TRUE(shape.tied_head);
  EXPECT_EQ(shape.bos_token, 2);
  EXPECT_EQ(shape.eos_token, 2);
  EXPECT_EQ(job::Parameters(job::Describe(shape)), 125'239'296);
}

TEST(ModelConfig, WhatIsNotBuiltOfOptIsRefusedByKey) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("do_layer_norm_before": false)", "do_layer_norm_before: false"},
      {R"("word_embed_proj_dim": 32)", "word_embed_proj_dim: 32"},
      {R"("activation_function": "gelu")", "activation_function: \"gelu\""},
      {R"("attention_dropout": 0.1)", "attention_dropout: 0.1"},
      {R"("activation_dropout": 0.1)", "activation_dropout: 0.1"},
      {R"("layerdrop": 0.1)", "layerdrop: 0.1"},
      {R"("enable_bias": false)", "enable_bias: false"},
      {R"("layer_norm_elementwise_affine": false)", "layer_norm_elementwise_affine: false"},
      {R"("_remove_final_layer_norm": true)", "_remove_final_layer_norm: true"},
      {R"("quantization_config": {"bits": 4})", "quantization_config"},
  };
  for (const auto& [more, expected] : cases)
    EXPECT_THAT(MessageOf(OptConfig(", " + more)), AllOf(HasSubstr(expected), HasSubstr("not yet")))
        << more;
}

TEST(ModelConfig, ImpossibleNumbersOfOptAreRefused) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("dropout": 1.0)", "dropout: 1.0: expected a number from 0, and below 1"},
      {R"("dropout": -0.1)", "dropout: -0.1"},
      {R"("dropout": "0.1")", "dropout: \"0.1\""},
      {R"("dropout": 1e999)", "1e999"},
      {R"("max_position_embeddings": 0)", "max_position_embeddings: 0"},
      {R"("ffn_dim": "96")", "ffn_dim: \"96\": expected an integer"},
      {R"("num_attention_heads": 7)", "expected a multiple of num_attention_heads 7"},
      {R"("bos_token_id": 50272)", "bos_token_id: 50272"},
  };
  for (const auto& [key, expected] : cases) {
    const std::string config = R"({"architectures": ["OPTForCausalLM"], )" + key + "}";
    EXPECT_THAT(MessageOf(config), HasSubstr(expected)) << key;
  }
}

std::string Blip2Config(const std::string& vision, const std::string& qformer,
                        const std::string& text, const std::string& more = "") {
  return R"({"architectures": ["Blip2ForConditionalGeneration"], "image_token_index": 50265,
             "vision_config": {)" +
         vision + R"(}, "qformer_config": {)" + qformer + R"(}, "text_config": {)" + text + "}" +
         more + "}";
}

TEST(ModelConfig, AbsentKeysOfBlip2AreThoseOfTransformers) {
  const job::ModelShape shape =
      ShapeOf(R"({"model_type": "blip-2", "image_token_index": 50265, "text_config": null})");
  EXPECT_EQ(shape.family, "blip-2");
  EXPECT_EQ(shape.hidden, 768);
  EXPECT_TRUE(shape.tied_head);
  ASSERT_TRUE(shape.image.has_value());
  const job::ImageShape& image = *shape.image;
  EXPECT_EQ(image.positions(), 257);
  EXPECT_EQ(image.queries, 32);
  EXPECT_EQ(image.token, 50265);
  EXPECT_EQ(image.vision_hidden / image.vision_heads, 88);
  EXPECT_EQ(image.qformer_attention_dropout, 0.1);
  EXPECT_EQ(image.qformer_norm_eps, 1e-12);
}

TEST(ModelConfig, Blip2IsReadByItsOwnKeys) {
  const job::ModelShape shape = ShapeOf(Blip2Config(
      R"("hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "image_size": 56,
         "patch_size": 8, "qkv_bias": false, "layer_norm_eps": 1e-5)",
      R"("hidden_size": 32, "num_hidden_layers": 5, "num_attention_heads": 2,
         "cross_attention_frequency": 3, "hidden_dropout_prob": 0.25)",
      R"("model_type": "opt", "hidden_size": 48, "num_attention_heads": 4, "vocab_size": 50304,
         "tie_word_embeddings": false)",
      R"(, "num_query_tokens": 7, "tie_word_embeddings": true)"));
  const job::ImageShape& image = shape.image.value();
  EXPECT_EQ(image.vision_layers, 3);
  EXPECT_EQ(image.positions(), 50);
  EXPECT_FALSE(image.vision_qkv_bias);
  EXPECT_EQ(image.vision_norm_eps, 1e-5);
  EXPECT_EQ(image.qformer_layers, 5);
  EXPECT_EQ(image.cross_every, 3);
  EXPECT_EQ(image.qformer_dropout, 0.25);
  EXPECT_EQ(image.queries, 7);
  EXPECT_EQ(shape.hidden, 48);
  EXPECT_FALSE(shape.tied_head);  // the text's own key, as transformers does
}

TEST(ModelConfig, WhatIsNotBuiltOfBlip2IsRefusedByKey) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {Blip2Config("", "", R"("model_type": "t5")"), "text_config.model_type: \"t5\""},
      {Blip2Config("", "", R"("dropout": 2)"), "text_config.dropout: 2"},
      {Blip2Config(R"("hidden_act": "quick_gelu")", "", ""), "vision_config.hidden_act"},
      {Blip2Config(R"("attention_dropout": 0.1)", "", ""), "vision_config.attention_dropout"},
      {Blip2Config(R"("patch_size": 13)", "", ""), "image_size: missing: expected a multiple"},
      {Blip2Config(R"("num_attention_heads": 9)", "", ""), "expected a multiple of num_attention"},
      {Blip2Config("", R"("use_qformer_text_input": true)", ""), "use_qformer_text_input: true"},
      {Blip2Config("", R"("position_embedding_type": "relative_key")", ""),
       "qformer_config.position_embedding_type: \"relative_key\""},
      {Blip2Config("", R"("hidden_dropout_prob": 1)", ""), "qformer_config.hidden_dropout_prob"},
      {Blip2Config("", "", "", R"(, "num_query_tokens": 0)"), "num_query_tokens: 0"},
      {Blip2Config("", "", R"("vocab_size": 50000)"), "image_token_index: 50265"},
      {R"({"model_type": "blip-2"})", "image_token_index: missing"},
      {R"({"model_type": "blip-2", "image_token_index": 1, "vision_config": 3})", "vision_config"},
  };
  for (const auto& [config, expected] : cases)
    EXPECT_THAT(MessageOf(config), HasSubstr(expected)) << config;
}

TEST(ModelConfig, ImpossibleSizesAreRefused) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"(, "rope_scaling": {"rope_type": "llama3", "factor": 8.0})",
       "rope_scaling.low_freq_factor: missing"},
      {R"(, "rope_scaling": {"rope_type": "linear"})", "rope_scaling.factor: missing"},
      {R"(, "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 4.0,
             "high_freq_factor": 4.0})",
       "rope_scaling.high_freq_factor: 4.0: expected more than low_freq_factor"},
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

TEST(ModelConfig, TheShippedModelsHaveTheParametersOfTheRealOnes) {
  const std::pair<const char*, int64_t> models[] = {
      {"TinyLlama-1.1B", 1'100'048'384},  {"CodeLlama-7b", 6'738'546'688},
      {"open_llama_3b", 3'426'473'600},   {"open_llama_7b", 6'738'415'616},
      {"open_llama_13b", 13'015'864'320}, {"Llama-3.2-1B", 1'235'814'400},
      {"Llama-3.1-8B", 8'030'261'248},    {"Qwen2.5-0.5B", 494'032'768},
      {"Qwen2.5-7B", 7'615'616'512},      {"Qwen3-0.6B", 596'049'920},
      {"Qwen3-8B", 8'190'735'360},        {"Mistral-7B-v0.3", 7'248'023'552},
      {"opt-2.7b", 2'651'596'800},        {"blip2-opt-2.7b", 3'744'761'856},
  };
  for (const auto& [name, parameters] : models) {
    auto shape = ReadModelConfig(checkout::File("deploy/models/" + std::string(name)));
    ASSERT_TRUE(shape.ok()) << shape.error().message;
    EXPECT_EQ(job::Parameters(job::Describe(*shape)), parameters) << name;
  }
}

}  // namespace
}  // namespace trainctl::files
