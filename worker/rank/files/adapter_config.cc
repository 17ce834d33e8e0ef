#include "worker/rank/files/adapter_config.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace trainctl::files {
namespace {

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

}  // namespace trainctl::files
