// A folder of peft: adapter_config.json, by which it is known what the adapter_model.safetensors
// beside it adds to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/job/job.h"

namespace trainctl::files {

inline constexpr char kAdapterConfigFile[] = "adapter_config.json";
inline constexpr char kAdapterWeightsFile[] = "adapter_model.safetensors";
inline constexpr char kAdapterPrefix[] = "base_model.model.";  // of the tensors' names

struct AdapterConfig {
  std::string base_model;  // path of the directory that was started from, or a hub id
  int64_t r = 0;
  double alpha = 0;  // scale: alpha / r
  double dropout = 0;
  std::vector<std::string> target_modules;  // last parts of the adapted modules' paths: "q_proj"
};

// The file's text. What it does not say is at peft's default.
std::string AdapterConfigJson(const AdapterConfig& config);

// base_model, r and alpha of such a text; source stands in messages. kInvalid: not JSON; a key that
// is missing or of a wrong type; a kind of adapter that is not computed here.
base::Result<AdapterConfig> ParseAdapterConfig(std::string_view text, const std::string& source);
// The same of the folder's. Also kNotFound, kIo.
base::Result<AdapterConfig> ReadAdapterConfig(const std::string& folder);

// Whether the folder's adapter is one of the job's lora. kInvalid names the key that differs; of a
// job without lora it says what to add. And the errors of reading it.
base::Status CheckAdapter(const std::string& folder, const job::JobSpec& job);

}  // namespace trainctl::files
