#include "worker/rank/files/weights_type.h"

#include <nlohmann/json.hpp>

namespace trainctl::files {
namespace {

using nlohmann::ordered_json;

// True if it said another.
bool SetType(ordered_json& part, std::string_view type) {
  bool is_changed = false;
  for (auto& [key, value] : part.items()) {
    if (value.is_object() && key.ends_with("_config")) {
      is_changed = SetType(value, type) || is_changed;
    } else if ((key == "dtype" || key == "torch_dtype") && value.is_string() && value != type) {
      value = type;
      is_changed = true;
    }
  }
  return is_changed;
}

}  // namespace

base::Result<std::string> WithWeightsType(const std::string& config, std::string_view type,
                                          const std::string& source) {
  auto document = ordered_json::parse(config, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object())
    return base::Error{base::Code::kInvalid, source + ": expected a JSON object"};
  return SetType(document, type) ? document.dump(2) + "\n" : config;
}

}  // namespace trainctl::files
