// adapter_config.json, by which peft knows what an adapter_model.safetensors beside it adds to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trainctl::files {

struct AdapterConfig {
  std::string base_model;  // path of the directory that was started from
  int64_t r = 0;
  double alpha = 0;  // scale: alpha / r
  double dropout = 0;
  std::vector<std::string> target_modules;  // last parts of the adapted modules' paths: "q_proj"
};

// The file's text. What it does not say is at peft's default.
std::string AdapterConfigJson(const AdapterConfig& config);

}  // namespace trainctl::files
