#include "client/litgpt/draft.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <utility>

#include "common/base/did_you_mean.h"

namespace trainctl::client {
namespace {

constexpr struct {
  std::string_view key, why;
} kNoCounterpart[] = {
    {"train.log_interval", "every step is reported"},
    {"train.max_tokens", "a run ends by train.epochs and train.max_steps"},
    {"train.max_time", "resources.time_limit ends a job, as TIMEOUT"},
    {"train.tie_embeddings", "the model's config.json says it"},
    {"train.min_lr", "the cosine goes down to 0, as in LitGPT's own fine-tuning"},
    {"eval.evaluate_example",
     "at each evaluation the model continues eval.prompts, and no row of the data"},
    {"eval.initial_validation", "the first evaluation is after eval.every_steps"},
    {"eval.final_validation", "where rows are kept for validation there is one at the end"},
    {"logger_name",
     "metrics are always kept: trainctl metrics JOB -o csv; \"track\": [\"tensorboard\"] writes "
     "TensorBoard's files too"},
    {"access_token", "nothing is downloaded, and secrets do not belong into a job file"},
    {"resume", "trainctl resume JOB goes on with a job"},
    {"data.num_workers", "the rows are tokenized before the run"},
    {"data.ignore_index", "what does not count in the loss is -100 always"},
    {"data.repo_id", "nothing is downloaded"},
    {"data.file_url", "nothing is downloaded"},
    {"optimizer.fused", "\"engine\" chooses the kernels"},
    {"optimizer.foreach", "\"engine\" chooses the kernels"},
};

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// YAML's plain words and numbers: True, 1e-4, .5
Json Typed(const std::string& text) {
  const std::string lower = Lower(text);
  if (lower == "true" || lower == "false") return lower == "true";
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_number() || json.is_array()) return json;
  const bool is_number = text.find_first_not_of("0123456789+-.eE") == std::string::npos &&
                         text.find_first_of("0123456789") != std::string::npos;
  return is_number ? Json(std::strtod(text.c_str(), nullptr)) : Json(text);
}

}  // namespace

LitgptDraft::LitgptDraft(const LitgptSettings& settings) {
  for (const LitgptSetting& setting : settings) {
    // Another class takes other arguments: those of the earlier one are gone, as in LitGPT.
    const bool is_class = setting.key == "data" || setting.key == "optimizer";
    const auto known = settings_.find(setting.key);
    if (is_class && known != settings_.end() && known->second.value != setting.value) {
      std::erase_if(settings_, [&](const auto& earlier) {
        return earlier.first.starts_with(setting.key + ".");
      });
    }
    settings_[setting.key] = setting;
  }
}

std::optional<std::string> LitgptDraft::Take(const std::string& key) {
  taken_.insert(key);
  const auto found = settings_.find(key);
  if (found == settings_.end()) return std::nullopt;
  const std::string lower = Lower(found->second.value);
  if (lower == "null" || lower == "~" || lower.empty()) return std::nullopt;
  return found->second.value;
}

Json LitgptDraft::Value(const std::string& key, const Json& default_value) {
  const std::optional<std::string> text = Take(key);
  return text ? Typed(*text) : default_value;
}

std::optional<int64_t> LitgptDraft::Whole(const std::string& key) {
  const Json value = Value(key, nullptr);
  if (value.is_null()) return std::nullopt;
  if (value.is_number_integer()) return value.get<int64_t>();
  Refuse(key, "a whole number");
  return std::nullopt;
}

void LitgptDraft::NoteOf(const std::string& key, const std::string& text) {
  const auto found = settings_.find(key);
  Note(key + (found == settings_.end() ? "" : " (" + found->second.place + ")") + ": " + text);
}

void LitgptDraft::Refuse(const std::string& key, const std::string& expected) {
  const auto found = settings_.find(key);
  const std::string place = found == settings_.end() ? "" : found->second.place + ": ";
  const std::string value = found == settings_.end() ? "missing" : found->second.value;
  problems_.push_back(place + key + ": " + value + ": expected " + expected);
}

// Among all keys that the conversion asked for, and those that have no counterpart.
std::string LitgptDraft::Suggestion(const std::string& key) const {
  std::vector<std::string_view> known;
  for (const std::string& name : taken_) {
    if (name != key) known.push_back(name);
  }
  for (const auto& row : kNoCounterpart) known.push_back(row.key);
  const std::string hint = base::DidYouMean(key, known);
  return hint.empty() ? "" : "; " + hint;
}

void LitgptDraft::NoteTheRest() {
  for (const auto& [key, setting] : settings_) {
    if (taken_.contains(key) || !Take(key)) continue;
    const auto known = std::find_if(std::begin(kNoCounterpart), std::end(kNoCounterpart),
                                    [&](const auto& row) { return row.key == key; });
    if (known != std::end(kNoCounterpart)) {
      NoteOf(key, "no counterpart: " + std::string(known->why));
    } else if (setting.place.starts_with("--")) {
      problems_.push_back(setting.place + ": LitGPT has no such option" + Suggestion(key));
    } else {
      NoteOf(key, "not known here, and left out" + Suggestion(key));
    }
  }
}

}  // namespace trainctl::client
