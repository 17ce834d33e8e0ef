#include "worker/rank/files/generation_config.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "worker/rank/files/json_file.h"

namespace trainctl::files {
namespace {

constexpr const char* kStopKey = "eos_token_id";
constexpr size_t kMostConfigBytes = 1 << 20;
constexpr size_t kMostToldBytes = 40;  // of a value

// Settings of transformers' generate that change what it writes at temperature 0, and the number
// with which they don't. Nor do null, false, "" and what is empty.
struct GenerateSetting {
  const char* key;
  double neutral = 0;
};
constexpr std::array kUnfollowed = {GenerateSetting{"bad_words_ids"},
                                    GenerateSetting{"begin_suppress_tokens"},
                                    GenerateSetting{"constraints"},
                                    GenerateSetting{"dola_layers"},
                                    GenerateSetting{"encoder_no_repeat_ngram_size"},
                                    GenerateSetting{"encoder_repetition_penalty", 1},
                                    GenerateSetting{"exponential_decay_length_penalty"},
                                    GenerateSetting{"force_words_ids"},
                                    GenerateSetting{"forced_bos_token_id", -1},
                                    GenerateSetting{"forced_eos_token_id", -1},
                                    GenerateSetting{"guidance_scale", 1},
                                    GenerateSetting{"max_time"},
                                    GenerateSetting{"min_length"},
                                    GenerateSetting{"min_new_tokens"},
                                    GenerateSetting{"no_repeat_ngram_size"},
                                    GenerateSetting{"num_beams", 1},
                                    GenerateSetting{"penalty_alpha"},
                                    GenerateSetting{"sequence_bias"},
                                    GenerateSetting{"stop_strings"},
                                    GenerateSetting{"suppress_tokens"},
                                    GenerateSetting{"token_healing"},
                                    GenerateSetting{"watermarking_config"}};

// Those that change which tokens may be drawn.
constexpr std::array kUnfollowedIfDrawn = {
    GenerateSetting{"epsilon_cutoff"}, GenerateSetting{"eta_cutoff"}, GenerateSetting{"min_p"},
    GenerateSetting{"top_h"}, GenerateSetting{"typical_p", 1}};

std::vector<int64_t> StopsOf(const JsonObject& config, int64_t vocab) {
  const nlohmann::json* value = config.Get(kStopKey);
  if (value == nullptr) return {};
  if (!value->is_array()) return {config.Integer(kStopKey, 0, vocab - 1)};
  std::vector<int64_t> stops;
  for (const nlohmann::json& id : *value) {
    const bool is_token =
        id.is_number_unsigned() && id.get<uint64_t>() < static_cast<uint64_t>(vocab);
    if (!is_token) {
      config.Expected(kStopKey, "a token id below vocab_size, or a list of them");
      break;
    }
    stops.push_back(id.get<int64_t>());
  }
  return stops;
}

bool IsNeutral(const nlohmann::json& value, double neutral) {
  if (value.is_number()) return value.get<double>() == neutral;
  return value == false || value == "" || (value.is_structured() && value.empty());
}

std::vector<std::string> UnfollowedOf(const JsonObject& config,
                                      std::span<const GenerateSetting> settings) {
  std::vector<std::string> unfollowed;
  for (const GenerateSetting& setting : settings) {
    const nlohmann::json* value = config.Get(setting.key);
    if (value == nullptr || IsNeutral(*value, setting.neutral)) continue;
    const std::string text = value->dump(-1, ' ', true);
    unfollowed.push_back(std::string(setting.key) +
                         (text.size() > kMostToldBytes ? "" : " " + text));
  }
  return unfollowed;
}

// transformers takes values from 1 on, too, as no limit.
double TopPOf(const JsonObject& config) {
  const nlohmann::json* value = config.Get("top_p");
  if (value == nullptr) return 1;
  if (value->is_number() && value->get<double>() >= 0) return std::min(value->get<double>(), 1.0);
  config.Expected("top_p", "a number from 0 to 1");
  return 1;
}

base::Result<GenerationConfig> ReadSettings(const std::string& directory, const char* name,
                                            const job::ModelShape& shape) {
  GenerationConfig generation;
  const auto read_keys = [&](const JsonObject& whole) {
    const bool is_nested = shape.image && whole.Get("text_config") != nullptr;
    const JsonObject config = is_nested ? whole.Object("text_config") : whole;
    generation = {.stops = StopsOf(config, shape.vocab),
                  .repetition_penalty = config.Positive("repetition_penalty", 1),
                  .top_k = config.Integer("top_k", 0, std::numeric_limits<int64_t>::max(), 0),
                  .top_p = TopPOf(config),
                  .file = name,
                  .unfollowed = UnfollowedOf(config, kUnfollowed),
                  .unfollowed_if_drawn = UnfollowedOf(config, kUnfollowedIfDrawn)};
  };
  const auto read = ReadJsonFile(directory, name, read_keys, kMostConfigBytes);
  if (!read) return read.error();
  return generation;
}

}  // namespace

base::Result<GenerationConfig> ReadGenerationConfig(const std::string& directory,
                                                    const job::ModelShape& shape) {
  auto own = ReadSettings(directory, "generation_config.json", shape);
  if (!own || !own->stops.empty()) return own;
  auto of_model = ReadSettings(directory, "config.json", shape);
  if (!of_model || own->file.empty()) return of_model;
  own->stops = std::move(of_model->stops);
  return own;
}

}  // namespace trainctl::files
