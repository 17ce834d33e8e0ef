#include "worker/rank/files/model_config.h"

#include <algorithm>
#include <utility>

#include "common/base/file.h"
#include "worker/rank/files/hf_directory.h"
#include "worker/rank/files/json_object.h"
#include "worker/rank/files/json_text.h"
#include "worker/rank/files/litgpt_config.h"
#include "worker/rank/files/model_limits.h"

namespace trainctl::files {
namespace {

using nlohmann::json;

constexpr size_t kMaxConfigBytes = 1 << 20;

void RefuseOtherArchitectures(const JsonObject& config) {
  const json* listed = config.Get("architectures");
  const json* type = config.Get("model_type");
  const auto is = [&](const char* architecture, const char* model_type) {
    return listed != nullptr ? *listed == json::array({architecture})
                             : type != nullptr && *type == model_type;
  };
  if (is("LlamaForCausalLM", "llama")) return;
  if (!is("MistralForCausalLM", "mistral")) {
    const bool by_type = listed == nullptr && type != nullptr;
    config.Expected(
        by_type ? "model_type" : "architectures",
        by_type
            ? "\"llama\" or \"mistral\"; others are not yet supported"
            : "[\"LlamaForCausalLM\"] or [\"MistralForCausalLM\"]; others are not yet supported");
  }
  // Mistral without a sliding window is LLaMA, but its defaults differ: 8 key-value heads, a window
  // of 4096.
  if (!config.Has("num_key_value_heads"))
    config.Expected("num_key_value_heads", "a number, in a Mistral configuration");
  if (!config.Has("sliding_window"))
    config.Expected("sliding_window", "null: an absent key means a window of 4096");
}

void RefuseUnsupported(const JsonObject& config) {
  config.Only("hidden_act", "silu");
  config.Only("attention_bias", false);
  config.Only("mlp_bias", false);
  config.Only("rope_interleaved", false);
  config.Only("partial_rotary_factor", 1.0);
  config.Only("sliding_window", nullptr);
  config.Only("quantization_config", nullptr);
}

// rope_theta of either dialect. Scaling of any kind is refused: the only type is "default".
double ReadRopeTheta(const JsonObject& config) {
  double theta = config.Positive("rope_theta", 10000);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (config.Get(key) == nullptr) continue;
    const JsonObject rope = config.Object(key);
    rope.Only("rope_type", "default");
    rope.Only("type", "default");
    rope.Only("partial_rotary_factor", 1.0);
    theta = rope.Positive("rope_theta", theta);
  }
  return theta;
}

// An id, or the first of a list; null: −1. Absent: transformers' default.
int64_t ReadTokenId(const JsonObject& config, const std::string& key, int64_t absent,
                    int64_t vocab) {
  if (!config.Has(key)) return absent < vocab ? absent : -1;
  const json* value = config.Get(key);
  if (value == nullptr) return -1;
  if (!value->is_array()) return config.Integer(key, 0, vocab - 1);
  const json first = value->empty() ? json() : value->front();
  if (first.is_number_unsigned() && first.get<uint64_t>() < static_cast<uint64_t>(vocab))
    return first.get<int64_t>();
  config.Expected(key, "a token id below vocab_size, or a list of them");
  return -1;
}

void CheckHeads(const JsonObject& config, const job::ModelShape& shape) {
  if (shape.heads % shape.kv_heads != 0) {
    config.Expected("num_key_value_heads",
                    "a divisor of num_attention_heads " + std::to_string(shape.heads));
  }
  if (config.Get("head_dim") == nullptr && shape.hidden % shape.heads != 0) {
    config.Expected("hidden_size", "a multiple of num_attention_heads " +
                                       std::to_string(shape.heads) + ", or a head_dim");
  }
  if (shape.head_dim % 2 != 0)
    config.Expected("head_dim", "an even number, not " + std::to_string(shape.head_dim));
}

job::ModelShape ReadShape(const JsonObject& config) {
  job::ModelShape shape;
  shape.layers = config.Integer("num_hidden_layers", 1, kMaxLayers);
  shape.hidden = config.Integer("hidden_size", 1, kMaxHidden);
  shape.intermediate = config.Integer("intermediate_size", 1, kMaxHidden);
  shape.heads = config.Integer("num_attention_heads", 1, kMaxHeads);
  shape.kv_heads = config.Integer("num_key_value_heads", 1, kMaxHeads, shape.heads);
  shape.head_dim =
      config.Integer("head_dim", 1, kMaxHeadDim, std::max<int64_t>(1, shape.hidden / shape.heads));
  shape.vocab = config.Integer("vocab_size", 1, kMaxVocab);
  shape.max_positions = config.Integer("max_position_embeddings", 1, kMaxVocab, 2048);
  shape.tied_head = config.Flag("tie_word_embeddings", false);
  shape.rope_theta = ReadRopeTheta(config);
  shape.norm_eps = config.Positive("rms_norm_eps", 1e-6);
  shape.bos_token = ReadTokenId(config, "bos_token_id", 1, shape.vocab);
  shape.eos_token = ReadTokenId(config, "eos_token_id", 2, shape.vocab);
  CheckHeads(config, shape);
  return shape;
}

// A LitGPT directory: the ids of tokens are those of the generation_config.json that LitGPT copies,
// where it is there.
base::Result<job::ModelShape> ReadLitGptDirectory(const std::string& directory) {
  const std::string path = directory + "/" + kLitGptConfigFile;
  auto text = base::ReadRegularFile(path, kMaxConfigBytes);
  if (!text) return text.error();
  auto shape = ParseLitGptConfig(*text, path);
  const std::string generation_path = directory + "/generation_config.json";
  if (!shape || !HasFile(directory, "generation_config.json")) return shape;
  const auto generation_text = base::ReadRegularFile(generation_path, kMaxConfigBytes);
  if (!generation_text) return generation_text.error();
  auto document = ParseJsonText(*generation_text, generation_path);
  if (!document) return document.error();
  Fault fault;
  const JsonObject generation(*document, generation_path + ": ", &fault);
  if (generation.Has("bos_token_id"))
    shape->bos_token = ReadTokenId(generation, "bos_token_id", -1, shape->vocab);
  if (generation.Has("eos_token_id"))
    shape->eos_token = ReadTokenId(generation, "eos_token_id", -1, shape->vocab);
  if (fault) return *fault;
  return shape;
}

}  // namespace

base::Result<job::ModelShape> ParseModelConfig(std::string_view text, const std::string& source) {
  auto document = ParseJsonText(text, source);
  if (!document) return document.error();
  Fault fault;
  const JsonObject config(*document, source + ": ", &fault);
  RefuseOtherArchitectures(config);
  RefuseUnsupported(config);
  job::ModelShape shape = ReadShape(config);
  if (fault) return *fault;
  return shape;
}

std::string ModelConfigText(const job::ModelShape& shape) {
  const auto id = [](int64_t token) { return token < 0 ? json() : json(token); };
  const json config = {{"architectures", {"LlamaForCausalLM"}},
                       {"model_type", "llama"},
                       {"hidden_act", "silu"},
                       {"num_hidden_layers", shape.layers},
                       {"hidden_size", shape.hidden},
                       {"intermediate_size", shape.intermediate},
                       {"num_attention_heads", shape.heads},
                       {"num_key_value_heads", shape.kv_heads},
                       {"head_dim", shape.head_dim},
                       {"vocab_size", shape.vocab},
                       {"max_position_embeddings", shape.max_positions},
                       {"tie_word_embeddings", shape.tied_head},
                       {"rope_theta", shape.rope_theta},
                       {"rms_norm_eps", shape.norm_eps},
                       {"bos_token_id", id(shape.bos_token)},
                       {"eos_token_id", id(shape.eos_token)}};
  return config.dump(2) + "\n";
}

base::Result<job::ModelShape> ReadModelConfig(const std::string& directory) {
  if (!HasFile(directory, "config.json") && HasFile(directory, kLitGptConfigFile))
    return ReadLitGptDirectory(directory);
  const std::string path = directory + "/config.json";
  auto text = base::ReadRegularFile(path, kMaxConfigBytes);
  if (!text) return text.error();
  return ParseModelConfig(*text, path);
}

}  // namespace trainctl::files
