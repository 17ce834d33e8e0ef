#include "worker/rank/files/rope_config.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "worker/rank/files/model_limits.h"

namespace trainctl::files {
namespace {

using job::RopeScaling;
using job::RopeType;

double Temperature(double factor, double scale) {
  return factor <= 1 ? 1 : 0.1 * scale * std::log(factor) + 1;
}

// Given, or of the factor as in the paper, or of mscale and mscale_all_dim as DeepSeek does.
double AttentionFactor(const JsonObject& rope, double factor) {
  if (rope.Get("attention_factor") != nullptr) return rope.Positive("attention_factor");
  if (rope.Get("mscale") == nullptr || rope.Get("mscale_all_dim") == nullptr)
    return Temperature(factor, 1);
  return Temperature(factor, rope.Positive("mscale")) /
         Temperature(factor, rope.Positive("mscale_all_dim"));
}

void ReadLlama3(const JsonObject& rope, RopeScaling* scaling) {
  scaling->low_freq_factor = rope.Positive("low_freq_factor");
  scaling->high_freq_factor = rope.Positive("high_freq_factor");
  if (scaling->high_freq_factor <= scaling->low_freq_factor)
    rope.Expected("high_freq_factor", "more than low_freq_factor");
}

void ReadYarn(const JsonObject& rope, RopeScaling* scaling) {
  scaling->beta_fast = rope.Positive("beta_fast", 32);
  scaling->beta_slow = rope.Positive("beta_slow", 1);
  scaling->attention_factor = AttentionFactor(rope, scaling->factor);
  scaling->truncates_correction = rope.Flag("truncate", true);
}

// Beside the scaling or in it; transformers takes the former where both are given.
int64_t OriginalPositions(const JsonObject& config, const JsonObject& rope, int64_t max_positions) {
  constexpr const char* kKey = "original_max_position_embeddings";
  return config.Integer(kKey, 1, kMaxVocab, rope.Integer(kKey, 1, kMaxVocab, max_positions));
}

RopeScaling ReadScaling(const JsonObject& config, const JsonObject& rope, RopeType type,
                        int64_t max_positions) {
  RopeScaling scaling{.type = type, .factor = rope.Positive("factor")};
  if (type != RopeType::kLlama3 && type != RopeType::kYarn) return scaling;
  scaling.original_positions = OriginalPositions(config, rope, max_positions);
  if (type == RopeType::kLlama3)
    ReadLlama3(rope, &scaling);
  else
    ReadYarn(rope, &scaling);
  return scaling;
}

}  // namespace

void ReadRope(const JsonObject& config, job::ModelShape* shape) {
  shape->rope_theta = config.Positive("rope_theta", 10000);
  const nlohmann::json *old_dialect = config.Get("rope_scaling"),
                       *new_dialect = config.Get("rope_parameters");
  if (old_dialect == nullptr && new_dialect == nullptr) return;
  if (old_dialect != nullptr && new_dialect != nullptr && *old_dialect != *new_dialect)
    return config.Fail("rope_scaling and rope_parameters differ: expected one of them");
  const char* key = old_dialect != nullptr ? "rope_scaling" : "rope_parameters";
  const JsonObject rope = config.Object(key);
  rope.Only("partial_rotary_factor", 1.0);
  shape->rope_theta = rope.Positive("rope_theta", shape->rope_theta);
  const char* type_key = rope.Get("rope_type") != nullptr ? "rope_type" : "type";
  const std::string name = rope.Text(type_key, "default");
  const auto type = job::ParseRopeType(name);
  if (type) {
    shape->rope_scaling = ReadScaling(config, rope, *type, shape->max_positions);
  } else if (name != "default") {
    rope.Expected(type_key,
                  "default, linear, dynamic, llama3 or yarn; others are not yet supported");
  }
}

}  // namespace trainctl::files
