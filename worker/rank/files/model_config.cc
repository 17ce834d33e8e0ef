#include "worker/rank/files/model_config.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "common/base/file.h"
#include "worker/rank/files/blip2_config.h"
#include "worker/rank/files/hf_directory.h"
#include "worker/rank/files/json_object.h"
#include "worker/rank/files/json_text.h"
#include "worker/rank/files/litgpt_config.h"
#include "worker/rank/files/model_limits.h"
#include "worker/rank/files/opt_config.h"
#include "worker/rank/files/rope_config.h"
#include "worker/rank/files/token_id.h"

namespace trainctl::files {
namespace {

using nlohmann::json;

// What names a family.
struct FamilyNames {
  const char* architecture;
  const char* model_type;
};

// Which layers have a window of attention where "layer_types" names none.
enum class Windows {
  kNone,           // a window is refused
  kAll,            // unless "sliding_window" is null
  kWhereTurnedOn,  // by "use_sliding_window", from the layer "max_window_layers" on
};

// What differs between the keys of LLaMA and its kin: their defaults are those of transformers.
struct FamilyKeys {
  FamilyNames names;
  int64_t kv_heads = 0;  // 0: as many as heads
  int64_t head_dim = 0;  // 0: hidden_size / num_attention_heads
  int64_t max_positions = 0;
  int64_t bos_token = -1, eos_token = -1;
  bool always_biases_qkv = false;
  bool reads_attention_bias = false;
  bool reads_mlp_bias = false;
  bool head_norms = false;
  Windows windows = Windows::kNone;
};
constexpr FamilyKeys kLlama = {.names = {"LlamaForCausalLM", "llama"},
                               .max_positions = 2048,
                               .bos_token = 1,
                               .eos_token = 2,
                               .reads_attention_bias = true,
                               .reads_mlp_bias = true,
                               .windows = Windows::kNone};
constexpr FamilyKeys kMistral = {.names = {"MistralForCausalLM", "mistral"},
                                 .kv_heads = 8,
                                 .max_positions = 4096 * 32,
                                 .bos_token = 1,
                                 .eos_token = 2,
                                 .windows = Windows::kAll};
constexpr FamilyKeys kQwen2 = {.names = {"Qwen2ForCausalLM", "qwen2"},
                               .kv_heads = 32,
                               .max_positions = 32768,
                               .always_biases_qkv = true,
                               .windows = Windows::kWhereTurnedOn};
constexpr FamilyKeys kQwen3 = {.names = {"Qwen3ForCausalLM", "qwen3"},
                               .kv_heads = 32,
                               .head_dim = 128,
                               .max_positions = 32768,
                               .reads_attention_bias = true,
                               .head_norms = true,
                               .windows = Windows::kWhereTurnedOn};

constexpr FamilyKeys WithNames(FamilyKeys family, FamilyNames names) {
  family.names = names;
  return family;
}

constexpr FamilyKeys kFamilies[] = {
    kLlama, kMistral, WithNames(kMistral, {"MinistralForCausalLM", "ministral"}), kQwen2, kQwen3};

constexpr FamilyNames kOpt = {"OPTForCausalLM", "opt"};
constexpr FamilyNames kBlip2 = {"Blip2ForConditionalGeneration", "blip-2"};

// By "architectures", or where that is absent by "model_type".
bool Is(const FamilyNames& family, const JsonObject& config) {
  const json* listed = config.Get("architectures");
  const json* type = config.Get("model_type");
  return listed != nullptr ? *listed == json::array({family.architecture})
                           : type != nullptr && *type == family.model_type;
}

void RefuseFamily(const JsonObject& config) {
  const bool by_type =
      config.Get("architectures") == nullptr && config.Get("model_type") != nullptr;
  std::string known;
  const auto add = [&](const FamilyNames& family) {
    const std::string name = by_type ? "\"" + std::string(family.model_type) + "\""
                                     : "[\"" + std::string(family.architecture) + "\"]";
    known += (known.empty() ? "" : ", ") + name;
  };
  for (const FamilyKeys& family : kFamilies) add(family.names);
  add(kOpt);
  add(kBlip2);
  config.Expected(by_type ? "model_type" : "architectures",
                  "one of " + known + "; others are not yet supported");
}

void RefuseUnsupported(const JsonObject& config, const FamilyKeys& family) {
  config.Only("hidden_act", "silu");
  config.Only("rope_interleaved", false);
  config.Only("partial_rotary_factor", 1.0);
  config.Only("attention_dropout", 0.0);
  config.Only("quantization_config", nullptr);
  if (!family.reads_attention_bias && !family.always_biases_qkv)
    config.Only("attention_bias", false);
  if (!family.reads_mlp_bias) config.Only("mlp_bias", false);
}

// 0: no layer has a window.
int64_t ReadWindow(const JsonObject& config, const FamilyKeys& family) {
  if (family.windows == Windows::kNone) {
    config.Only("sliding_window", nullptr);
    return 0;
  }
  constexpr int64_t kDefaultWindow = 4096;
  const bool is_null = config.Has("sliding_window") && config.Get("sliding_window") == nullptr;
  const bool is_off = is_null || (family.windows == Windows::kWhereTurnedOn &&
                                  !config.Flag("use_sliding_window", false));
  return is_off ? 0 : config.Integer("sliding_window", 1, kMaxVocab, kDefaultWindow);
}

// Layers without the window: by "layer_types", which transformers 5 writes, else as the family has
// it.
std::vector<int64_t> ReadFullLayers(const JsonObject& config, Windows windows,
                                    const job::ModelShape& shape) {
  const bool has_window = shape.sliding_window > 0;
  std::vector<int64_t> full;
  if (const json* types = config.Get("layer_types")) {
    bool is_known = types->is_array() && std::ssize(*types) == shape.layers;
    for (int64_t layer = 0; is_known && layer < shape.layers; ++layer) {
      const bool slides = (*types)[layer] == "sliding_attention";
      is_known = slides ? has_window : (*types)[layer] == "full_attention";
      if (!slides) full.push_back(layer);
    }
    if (!is_known) {
      config.Expected("layer_types",
                      "a list of as many as num_hidden_layers: \"full_attention\", or "
                      "\"sliding_attention\" where a sliding_window is in use; others are not "
                      "yet supported");
    }
  } else if (has_window && windows == Windows::kWhereTurnedOn) {
    constexpr int64_t kDefaultMaxWindowLayers = 28;
    full.resize(std::min(
        shape.layers, config.Integer("max_window_layers", 0, kMaxVocab, kDefaultMaxWindowLayers)));
    std::iota(full.begin(), full.end(), 0);
  }
  return full;
}

// A window that no layer has is none.
void ReadWindows(const JsonObject& config, const FamilyKeys& family, job::ModelShape* shape) {
  shape->sliding_window = ReadWindow(config, family);
  shape->full_layers = ReadFullLayers(config, family.windows, *shape);
  if (std::ssize(shape->full_layers) == shape->layers) shape->sliding_window = 0;
  if (shape->sliding_window == 0) shape->full_layers.clear();
}

void CheckHeads(const JsonObject& config, const job::ModelShape& shape, const FamilyKeys& family) {
  if (shape.heads % shape.kv_heads != 0) {
    config.Expected("num_key_value_heads",
                    "a divisor of num_attention_heads " + std::to_string(shape.heads));
  }
  const bool divides = config.Get("head_dim") == nullptr && family.head_dim == 0;
  if (divides && shape.hidden % shape.heads != 0) {
    config.Expected("hidden_size", "a multiple of num_attention_heads " +
                                       std::to_string(shape.heads) + ", or a head_dim");
  }
  if (shape.head_dim % 2 != 0)
    config.Expected("head_dim", "an even number, not " + std::to_string(shape.head_dim));
}

job::ModelShape ReadLlamaShape(const JsonObject& config, const FamilyKeys& family) {
  RefuseUnsupported(config, family);
  job::ModelShape shape;
  shape.family = family.names.model_type;
  shape.layers = config.Integer("num_hidden_layers", 1, kMaxLayers);
  shape.hidden = config.Integer("hidden_size", 1, kMaxHidden);
  shape.intermediate = config.Integer("intermediate_size", 1, kMaxHidden);
  shape.heads = config.Integer("num_attention_heads", 1, kMaxHeads);
  const bool nulls_kv_heads = config.Has("num_key_value_heads");
  shape.kv_heads =
      config.Integer("num_key_value_heads", 1, kMaxHeads,
                     family.kv_heads == 0 || nulls_kv_heads ? shape.heads : family.kv_heads);
  shape.head_dim = config.Integer(
      "head_dim", 1, kMaxHeadDim,
      family.head_dim != 0 ? family.head_dim : std::max<int64_t>(1, shape.hidden / shape.heads));
  shape.vocab = config.Integer("vocab_size", 1, kMaxVocab);
  shape.max_positions =
      config.Integer("max_position_embeddings", 1, kMaxVocab, family.max_positions);
  shape.tied_head = config.Flag("tie_word_embeddings", false);
  ReadRope(config, &shape);
  shape.norm_eps = config.Positive("rms_norm_eps", 1e-6);
  shape.bos_token = ReadTokenId(config, "bos_token_id", family.bos_token, shape.vocab);
  shape.eos_token = ReadTokenId(config, "eos_token_id", family.eos_token, shape.vocab);
  shape.out_bias = family.reads_attention_bias && config.Flag("attention_bias", false);
  shape.qkv_bias = family.always_biases_qkv || shape.out_bias;
  shape.mlp_bias = family.reads_mlp_bias && config.Flag("mlp_bias", false);
  shape.head_norms = family.head_norms;
  ReadWindows(config, family, &shape);
  CheckHeads(config, shape, family);
  return shape;
}

job::ModelShape ReadHuggingFaceShape(const JsonObject& config) {
  for (const FamilyKeys& family : kFamilies) {
    if (Is(family.names, config)) return ReadLlamaShape(config, family);
  }
  if (Is(kOpt, config)) return ReadOptShape(config);
  if (Is(kBlip2, config)) return ReadBlip2Shape(config);
  RefuseFamily(config);
  return {};
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
  job::ModelShape shape = ReadHuggingFaceShape(config);
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
