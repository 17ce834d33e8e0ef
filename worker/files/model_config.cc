#include "worker/files/model_config.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "worker/files/json_text.h"
#include "worker/files/text_file.h"

namespace trainctl::files {
namespace {

using nlohmann::json;

constexpr int64_t kMaxConfigBytes = 1 << 20;
// Far beyond any model, and small enough that no count of parameters or bytes overflows 63 bits.
constexpr int64_t kMaxLayers = 1 << 11, kMaxHeads = 1 << 12, kMaxHeadDim = 1 << 12, kMaxHidden = 1 << 20, kMaxVocab = 1 << 24;

// Reads keys of one object. The first fault is kept, and everything after it yields defaults: callers check once, at the end.
class ConfigReader {
 public:
  ConfigReader(const json& object, std::string source) : object_(object), source_(std::move(source)) {}

  // A size in 1 … max; absent or null: the default, or a fault where there is none.
  int64_t Size(const char* key, int64_t max, std::optional<int64_t> absent = std::nullopt) {
    const json* value = Get(key);
    if (value == nullptr && absent) return *absent;
    if (value == nullptr) return Fault(key, "missing", "a positive integer"), 1;
    if (!value->is_number_integer() || value->get<double>() < 1 || value->get<double>() > static_cast<double>(max)) {
      return Fault(key, value->dump(), "an integer from 1 to " + std::to_string(max)), 1;
    }
    return value->get<int64_t>();
  }

  double Positive(const char* key, double absent) {
    const json* value = Get(key);
    if (value == nullptr) return absent;
    if (!value->is_number() || !(value->get<double>() > 0) || !std::isfinite(value->get<double>())) {
      return Fault(key, value->dump(), "a positive number"), absent;
    }
    return value->get<double>();
  }

  bool Flag(const char* key, bool absent) {
    const json* value = Get(key);
    if (value == nullptr) return absent;
    if (!value->is_boolean()) return Fault(key, value->dump(), "true or false"), absent;
    return value->get<bool>();
  }

  // An id, or the first of a list; null: -1. Absent: the default.
  int64_t TokenId(const char* key, int64_t absent, int64_t vocab) {
    if (!object_.contains(key)) return absent < vocab ? absent : -1;
    const json& given = object_[key];
    if (given.is_null()) return -1;
    const json& id = given.is_array() && !given.empty() ? given.front() : given;
    if (!id.is_number_integer() || id.get<double>() < 0 || id.get<double>() >= static_cast<double>(vocab)) {
      return Fault(key, given.dump(), "a token id below vocab_size, or a list of them"), absent;
    }
    return id.get<int64_t>();
  }

  // A key that may be absent or null, and otherwise must be this: what the engine computes.
  void Only(const char* key, const json& supported) {
    const json* value = Get(key);
    if (value != nullptr && *value != supported) Fault(key, value->dump(), supported.dump() + "; anything else is not yet supported");
  }

  void Absent(const char* key) {
    if (const json* value = Get(key)) Fault(key, value->dump(), "null; it is not yet supported");
  }

  // nullptr: absent or null.
  const json* Get(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  void Fault(const std::string& key, const std::string& value, const std::string& expected) {
    if (!error_) error_ = base::Error{base::Code::kInvalid, source_ + ": " + key + ": " + value + ": expected " + expected};
  }
  const std::optional<base::Error>& error() const { return error_; }

 private:
  const json& object_;
  std::string source_;
  std::optional<base::Error> error_;
};

enum class Architecture { kLlama, kMistral };

Architecture ReadArchitecture(ConfigReader* config) {
  const json* listed = config->Get("architectures");
  const json* type = config->Get("model_type");
  if (listed != nullptr && *listed == json::array({"LlamaForCausalLM"})) return Architecture::kLlama;
  if (listed != nullptr && *listed == json::array({"MistralForCausalLM"})) return Architecture::kMistral;
  if (listed == nullptr && type != nullptr && *type == "llama") return Architecture::kLlama;
  if (listed == nullptr && type != nullptr && *type == "mistral") return Architecture::kMistral;
  const std::string value = listed != nullptr ? listed->dump() : type != nullptr ? type->dump() : "missing";
  config->Fault(listed == nullptr && type != nullptr ? "model_type" : "architectures", value,
                "[\"LlamaForCausalLM\"] or [\"MistralForCausalLM\"]; others are not yet supported");
  return Architecture::kLlama;
}

// rope_theta of either dialect. Scaling of any kind is refused: the only type is "default".
double ReadRopeTheta(ConfigReader* config, const std::string& source) {
  double theta = config->Positive("rope_theta", 10000);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const json* rope = config->Get(key);
    if (rope == nullptr) continue;
    if (!rope->is_object()) {
      config->Fault(key, rope->dump(), "an object");
      continue;
    }
    ConfigReader parameters(*rope, source + ": " + key);
    parameters.Only("rope_type", "default");
    parameters.Only("type", "default");
    parameters.Only("partial_rotary_factor", 1.0);
    theta = parameters.Positive("rope_theta", theta);
    if (parameters.error()) config->Fault(key, rope->dump(), "{\"rope_type\": \"default\"}; rope scaling is not yet supported");
  }
  return theta;
}

// Mistral's defaults differ from LLaMA's, and an absent sliding_window means 4096: both keys must be spelled out.
void CheckMistral(ConfigReader* config, const json& document) {
  config->Size("num_key_value_heads", kMaxHeads);
  if (!document.contains("sliding_window")) config->Fault("sliding_window", "missing (that is 4096)", "null");
  config->Absent("sliding_window");
}

void RefuseUnsupported(ConfigReader* config) {
  config->Only("hidden_act", "silu");
  config->Only("attention_bias", false);
  config->Only("mlp_bias", false);
  config->Only("rope_interleaved", false);
  config->Only("partial_rotary_factor", 1.0);
  config->Absent("quantization_config");
}

void CheckHeads(ConfigReader* config, const job::ModelShape& shape) {
  if (shape.heads % shape.kv_heads != 0) {
    config->Fault("num_key_value_heads", std::to_string(shape.kv_heads), "a divisor of num_attention_heads " + std::to_string(shape.heads));
  }
  if (shape.head_dim % 2 != 0) config->Fault("head_dim", std::to_string(shape.head_dim), "an even number");
  if (config->Get("head_dim") == nullptr && shape.hidden % shape.heads != 0) {
    config->Fault("hidden_size", std::to_string(shape.hidden), "a multiple of num_attention_heads, or a head_dim");
  }
}

}  // namespace

base::Result<job::ModelShape> ParseModelConfig(std::string_view text, const std::string& source) {
  auto document = ParseJsonText(text, source);
  if (!document) return document.error();
  if (!document->is_object()) return base::Error{base::Code::kInvalid, source + ": expected a JSON object"};

  ConfigReader config(*document, source);
  if (ReadArchitecture(&config) == Architecture::kMistral) CheckMistral(&config, *document);
  RefuseUnsupported(&config);
  job::ModelShape shape;
  shape.layers = config.Size("num_hidden_layers", kMaxLayers);
  shape.hidden = config.Size("hidden_size", kMaxHidden);
  shape.intermediate = config.Size("intermediate_size", kMaxHidden);
  shape.heads = config.Size("num_attention_heads", kMaxHeads);
  shape.kv_heads = config.Size("num_key_value_heads", kMaxHeads, shape.heads);
  shape.head_dim = config.Size("head_dim", kMaxHeadDim, std::max<int64_t>(1, shape.hidden / shape.heads));
  shape.vocab = config.Size("vocab_size", kMaxVocab);
  shape.max_positions = config.Size("max_position_embeddings", kMaxVocab, 2048);
  shape.tied_head = config.Flag("tie_word_embeddings", false);
  shape.rope_theta = ReadRopeTheta(&config, source);
  shape.norm_eps = config.Positive("rms_norm_eps", 1e-6);
  shape.bos_token = config.TokenId("bos_token_id", 1, shape.vocab);
  shape.eos_token = config.TokenId("eos_token_id", 2, shape.vocab);
  CheckHeads(&config, shape);
  if (config.error()) return *config.error();
  return shape;
}

base::Result<job::ModelShape> ReadModelConfig(const std::string& directory) {
  const std::string path = directory + "/config.json";
  auto text = ReadTextFile(path, kMaxConfigBytes);
  if (!text) return text.error();
  return ParseModelConfig(*text, path);
}

}  // namespace trainctl::files
