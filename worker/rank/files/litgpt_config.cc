#include "worker/rank/files/litgpt_config.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "worker/rank/files/json_object.h"
#include "worker/rank/files/model_limits.h"
#include "worker/rank/files/yaml_text.h"

namespace trainctl::files {
namespace {

using nlohmann::json;

// Read below, or of no consequence for a LLaMA.
const std::set<std::string, std::less<>> kKnown = {
    "name",
    "hf_config",
    "block_size",
    "n_layer",
    "n_embd",
    "n_head",
    "head_size",
    "n_query_groups",
    "vocab_size",
    "padding_multiple",
    "norm_eps",
    "norm_qk_type",
    "padded_vocab_size",
    "norm_class_name",
    "norm_1",
    "norm_2",
    "rope_base",
    "rotary_percentage",
    "bias",
    "parallel_residual",
    "mlp_class_name",
    "gelu_approximate",
    "intermediate_size",
    "rope_condense_ratio",
};

// Its default is another model's, so that absence, too, is something else.
void Must(const JsonObject& config, const std::string& key, const json& supported,
          const std::string& litgpt_default) {
  const json* value = config.Get(key);
  if (value != nullptr && *value == supported) return;
  config.Expected(key,
                  supported.dump() +
                      (value == nullptr ? " (LitGPT's default is " + litgpt_default + ")" : "") +
                      "; anything else is not yet supported");
}

bool IsOff(const json& value) {
  return value.is_null() || value == false || value == 0 ||
         ((value.is_array() || value.is_object()) && value.empty());
}

void RefuseOtherArchitectures(const JsonObject& config, const json& fields) {
  Must(config, "norm_class_name", "RMSNorm", "LayerNorm");
  Must(config, "mlp_class_name", "LLaMAMLP", "GptNeoxMLP");
  Must(config, "parallel_residual", false, "true");
  Must(config, "bias", false, "true");
  Must(config, "rotary_percentage", 1, "0.25");
  for (const char* key : {"norm_1", "norm_2"}) config.Only(key, true);
  config.Only("rope_condense_ratio", 1);
  for (const auto& [key, value] : fields.items()) {
    if (!kKnown.contains(key) && !IsOff(value))
      config.Expected(key, "null, false or 0; what it turns on is not yet supported");
  }
}

int64_t NextMultiple(int64_t value, int64_t of) { return (value + of - 1) / of * of; }

job::ModelShape ReadShape(const JsonObject& config) {
  job::ModelShape shape;
  shape.layers = config.Integer("n_layer", 1, kMaxLayers, 16);
  shape.hidden = config.Integer("n_embd", 1, kMaxHidden, 4096);
  shape.intermediate = config.Integer("intermediate_size", 1, kMaxHidden);
  shape.heads = config.Integer("n_head", 1, kMaxHeads, 32);
  shape.kv_heads = config.Integer("n_query_groups", 1, kMaxHeads, shape.heads);
  shape.head_dim =
      config.Integer("head_size", 1, kMaxHeadDim, std::max<int64_t>(1, shape.hidden / shape.heads));
  const int64_t words = config.Integer("vocab_size", 1, kMaxVocab, 50254),
                multiple = config.Integer("padding_multiple", 1, kMaxVocab, 512);
  shape.vocab = config.Integer("padded_vocab_size", 1, kMaxVocab, NextMultiple(words, multiple));
  shape.max_positions = config.Integer("block_size", 1, kMaxVocab, 4096);
  shape.rope_theta = config.Positive("rope_base", 10000);
  shape.norm_eps = config.Positive("norm_eps", 1e-5);
  if (shape.vocab <= shape.bos_token) shape.bos_token = -1;
  if (shape.vocab <= shape.eos_token) shape.eos_token = -1;
  if (shape.heads % shape.kv_heads != 0)
    config.Expected("n_query_groups", "a divisor of n_head " + std::to_string(shape.heads));
  if (config.Get("head_size") == nullptr && shape.hidden % shape.heads != 0) {
    config.Expected("n_embd",
                    "a multiple of n_head " + std::to_string(shape.heads) + ", or a head_size");
  }
  if (shape.head_dim % 2 != 0)
    config.Expected("head_size", "an even number, not " + std::to_string(shape.head_dim));
  return shape;
}

}  // namespace

base::Result<job::ModelShape> ParseLitGptConfig(std::string_view text, const std::string& source) {
  auto document = ParseYamlText(text, source);
  if (!document) return document.error();
  Fault fault;
  const JsonObject config(*document, source + ": ", &fault);
  if (!fault) RefuseOtherArchitectures(config, *document);
  job::ModelShape shape = ReadShape(config);
  if (fault) return *fault;
  return shape;
}

}  // namespace trainctl::files
