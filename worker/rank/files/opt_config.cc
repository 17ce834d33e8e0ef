#include "worker/rank/files/opt_config.h"

#include <nlohmann/json.hpp>
#include <string>

#include "worker/rank/files/model_limits.h"
#include "worker/rank/files/token_id.h"

namespace trainctl::files {
namespace {

using nlohmann::json;

// transformers' defaults: opt-125m.
constexpr int64_t kLayers = 12, kHidden = 768, kHeads = 12, kFfn = 3072, kVocab = 50272,
                  kPositions = 2048, kBosAndEos = 2;
constexpr double kDropout = 0.1;
constexpr double kNormEps = 1e-5;  // torch's; no key sets it

void RefuseOfOpt(const JsonObject& config, const job::ModelShape& shape) {
  config.Only("activation_function", "relu");
  config.Only("do_layer_norm_before", true);
  config.Only("_remove_final_layer_norm", false);
  config.Only("enable_bias", true);
  config.Only("layer_norm_elementwise_affine", true);
  config.Only("word_embed_proj_dim", shape.hidden);
  config.Only("attention_dropout", 0.0);
  config.Only("activation_dropout", 0.0);
  config.Only("layerdrop", 0.0);
  config.Only("quantization_config", nullptr);
}

}  // namespace

double ReadShare(const JsonObject& config, const std::string& key, double absent) {
  const json* value = config.Get(key);
  if (value == nullptr) return absent;
  if (value->is_number() && value->get<double>() >= 0 && value->get<double>() < 1)
    return value->get<double>();
  config.Expected(key, "a number from 0, and below 1");
  return absent;
}

job::ModelShape ReadOptShape(const JsonObject& config) {
  job::ModelShape shape;
  shape.family = "opt";
  shape.layers = config.Integer("num_hidden_layers", 1, kMaxLayers, kLayers);
  shape.hidden = config.Integer("hidden_size", 1, kMaxHidden, kHidden);
  shape.intermediate = config.Integer("ffn_dim", 1, kMaxHidden, kFfn);
  shape.heads = config.Integer("num_attention_heads", 1, kMaxHeads, kHeads);
  shape.kv_heads = shape.heads;
  if (shape.hidden % shape.heads != 0) {
    config.Expected("hidden_size",
                    "a multiple of num_attention_heads " + std::to_string(shape.heads));
  }
  shape.head_dim = shape.hidden / shape.heads;
  if (shape.head_dim > kMaxHeadDim)
    config.Expected("hidden_size", "heads of at most " + std::to_string(kMaxHeadDim));
  shape.vocab = config.Integer("vocab_size", 1, kMaxVocab, kVocab);
  shape.max_positions = config.Integer("max_position_embeddings", 1, kMaxVocab, kPositions);
  shape.tied_head = config.Flag("tie_word_embeddings", true);
  shape.norm_eps = kNormEps;
  shape.dropout = ReadShare(config, "dropout", kDropout);
  shape.bos_token = ReadTokenId(config, "bos_token_id", kBosAndEos, shape.vocab);
  shape.eos_token = ReadTokenId(config, "eos_token_id", kBosAndEos, shape.vocab);
  RefuseOfOpt(config, shape);
  return shape;
}

}  // namespace trainctl::files
