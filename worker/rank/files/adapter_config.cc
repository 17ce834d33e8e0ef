#include "worker/rank/files/adapter_config.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/base/file.h"
#include "worker/rank/files/json_object.h"
#include "worker/rank/files/json_text.h"

namespace trainctl::files {
namespace {

constexpr size_t kMostAdapterConfigBytes = 1 << 20;
constexpr int64_t kMostAdapterRank = 1 << 20;

// What would compute something else than W + alpha / r · B A.
void CheckKind(const JsonObject& config) {
  config.Only("peft_type", "LORA");
  config.Only("bias", "none");
  for (const char* key : {"modules_to_save", "layer_replication"})
    if (const auto* value = config.Get(key); value != nullptr && !value->empty())
      config.Expected(key, "null; anything else is not yet supported");
  // Others (pissa, olora, loftq, corda) train beside a base model that they have changed.
  if (const auto* start = config.Get("init_lora_weights");
      start != nullptr && !start->is_boolean() && *start != "gaussian")
    config.Expected("init_lora_weights",
                    "true, false or \"gaussian\"; anything else is not yet supported");
  for (const char* key : {"fan_in_fan_out", "use_dora", "use_rslora", "lora_bias"})
    config.Only(key, false);
  for (const char* key : {"rank_pattern", "alpha_pattern"})
    config.Only(key, nlohmann::json::object());
}

std::string NumberText(double value) {
  const std::string text = nlohmann::json(value).dump();
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

base::Error Differs(const std::string& folder, const std::string& key, double asked, double has) {
  return {base::Code::kInvalid, key + ": " + NumberText(asked) + ": expected " + NumberText(has) +
                                    ", as " + folder + "/" + kAdapterConfigFile + " has it"};
}

// peft declares alpha as an integer, and takes others.
nlohmann::ordered_json Number(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<int64_t>(value);
  return value;
}

}  // namespace

std::string AdapterConfigJson(const AdapterConfig& config) {
  const nlohmann::ordered_json json = {{"peft_type", "LORA"},
                                       {"task_type", "CAUSAL_LM"},
                                       {"base_model_name_or_path", config.base_model},
                                       {"r", config.r},
                                       {"lora_alpha", Number(config.alpha)},
                                       {"lora_dropout", config.dropout},
                                       {"target_modules", config.target_modules},
                                       {"bias", "none"},
                                       {"fan_in_fan_out", false},
                                       {"inference_mode", true},
                                       {"init_lora_weights", true},
                                       {"modules_to_save", nullptr},
                                       {"use_dora", false},
                                       {"use_rslora", false}};
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

base::Result<AdapterConfig> ParseAdapterConfig(std::string_view text, const std::string& source) {
  const auto document = ParseJsonText(text, source);
  if (!document) return document.error();
  Fault fault;
  const JsonObject config(*document, source + ": ", &fault);
  CheckKind(config);
  AdapterConfig adapter{.base_model = config.Text("base_model_name_or_path"),
                        .r = config.Integer("r", 1, kMostAdapterRank),
                        .alpha = config.Positive("lora_alpha")};
  if (adapter.base_model.empty()) config.Expected("base_model_name_or_path", "the model's path");
  if (fault) return *fault;
  return adapter;
}

base::Result<AdapterConfig> ReadAdapterConfig(const std::string& folder) {
  const std::string path = folder + "/" + kAdapterConfigFile;
  const auto text = base::ReadRegularFile(path, kMostAdapterConfigBytes);
  if (!text) return text.error();
  return ParseAdapterConfig(*text, path);
}

base::Status CheckAdapter(const std::string& folder, const job::JobSpec& job) {
  const auto config = ReadAdapterConfig(folder);
  if (!config) return config.error();
  if (!job.lora) {
    return base::Error{base::Code::kInvalid,
                       "'" + folder + "' is an adapter: add \"lora\" with its r " +
                           std::to_string(config->r) + " and alpha " + NumberText(config->alpha)};
  }
  if (job.lora->r != config->r)
    return Differs(folder, "lora.r", static_cast<double>(job.lora->r),
                   static_cast<double>(config->r));
  if (job.lora->alpha != config->alpha)
    return Differs(folder, "lora.alpha", job.lora->alpha, config->alpha);
  return base::Ok{};
}

}  // namespace trainctl::files
