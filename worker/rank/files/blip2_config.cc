#include "worker/rank/files/blip2_config.h"

#include <nlohmann/json.hpp>
#include <string>

#include "worker/rank/files/model_limits.h"
#include "worker/rank/files/opt_config.h"

namespace trainctl::files {
namespace {

using nlohmann::json;

constexpr int64_t kMaxSide = 1 << 12, kMaxQueries = 1 << 12;

// A section that is absent or null has transformers' defaults.
JsonObject Section(const JsonObject& config, const std::string& key, const json& none,
                   Fault* fault) {
  return config.Get(key) == nullptr ? JsonObject(none, key, fault) : config.Object(key);
}

void CheckDivides(const JsonObject& config, const std::string& key, int64_t value,
                  const std::string& by_key, int64_t by) {
  if (value % by != 0) config.Expected(key, "a multiple of " + by_key + " " + std::to_string(by));
}

void ReadVision(const JsonObject& vision, job::ImageShape* image) {
  image->side = vision.Integer("image_size", 1, kMaxSide, 224);
  image->patch = vision.Integer("patch_size", 1, kMaxSide, 14);
  image->vision_layers = vision.Integer("num_hidden_layers", 1, kMaxLayers, 39);
  image->vision_hidden = vision.Integer("hidden_size", 1, kMaxHidden, 1408);
  image->vision_intermediate = vision.Integer("intermediate_size", 1, kMaxHidden, 6144);
  image->vision_heads = vision.Integer("num_attention_heads", 1, kMaxHeads, 16);
  image->vision_qkv_bias = vision.Flag("qkv_bias", true);
  image->vision_norm_eps = vision.Positive("layer_norm_eps", 1e-6);
  vision.Only("hidden_act", "gelu");
  vision.Only("attention_dropout", 0.0);
  vision.Only("dropout", 0.0);
  CheckDivides(vision, "image_size", image->side, "patch_size", image->patch);
  CheckDivides(vision, "hidden_size", image->vision_hidden, "num_attention_heads",
               image->vision_heads);
}

// encoder_hidden_size is the vision transformer's width, whatever it says: so transformers has it.
void ReadQFormer(const JsonObject& qformer, job::ImageShape* image) {
  image->qformer_layers = qformer.Integer("num_hidden_layers", 1, kMaxLayers, 12);
  image->qformer_hidden = qformer.Integer("hidden_size", 1, kMaxHidden, 768);
  image->qformer_intermediate = qformer.Integer("intermediate_size", 1, kMaxHidden, 3072);
  image->qformer_heads = qformer.Integer("num_attention_heads", 1, kMaxHeads, 12);
  image->cross_every = qformer.Integer("cross_attention_frequency", 1, kMaxLayers, 2);
  image->qformer_norm_eps = qformer.Positive("layer_norm_eps", 1e-12);
  image->qformer_dropout = ReadShare(qformer, "hidden_dropout_prob", 0.1);
  image->qformer_attention_dropout = ReadShare(qformer, "attention_probs_dropout_prob", 0.1);
  qformer.Only("hidden_act", "gelu");
  qformer.Only("position_embedding_type", "absolute");
  qformer.Only("use_qformer_text_input", false);
  CheckDivides(qformer, "hidden_size", image->qformer_hidden, "num_attention_heads",
               image->qformer_heads);
}

}  // namespace

job::ModelShape ReadBlip2Shape(const JsonObject& config) {
  const json none = json::object();
  Fault unused;
  const JsonObject text = Section(config, "text_config", none, &unused);
  if (const json* type = text.Get("model_type"); type != nullptr && *type != "opt") {
    text.Expected("model_type", "\"opt\"; others are not yet supported");
    return {};
  }
  job::ModelShape shape = ReadOptShape(text);
  shape.family = "blip-2";
  job::ImageShape& image = shape.image.emplace();
  ReadVision(Section(config, "vision_config", none, &unused), &image);
  ReadQFormer(Section(config, "qformer_config", none, &unused), &image);
  image.queries = config.Integer("num_query_tokens", 1, kMaxQueries, 32);
  image.token = config.Integer("image_token_index", 0, shape.vocab - 1);
  config.Only("use_decoder_only_language_model", true);
  config.Only("quantization_config", nullptr);
  return shape;
}

}  // namespace trainctl::files
