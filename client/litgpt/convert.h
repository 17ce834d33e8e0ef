// LitGPT's settings (0.5.7's finetune_full and finetune_lora, with their defaults) as a job file.
// Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/litgpt/command.h"
#include "client/litgpt/setting.h"
#include "client/show/output.h"

namespace trainctl::client {

struct LitgptSource {
  LitgptMethod method = LitgptMethod::kUnsaid;  // unsaid: lora where the settings have any of it
  LitgptSettings settings;                      // of the YAML, then of the command line
  std::string name;                             // of the job
  std::string origin;                           // "config.yaml": for the job's notes
  std::function<bool(const std::string& path)> exists;
  std::function<std::string(const std::string& path)>
      place_path;  // a path from here, as the job file has it
};

struct LitgptJob {
  Json job;  // not checked yet: the schema's checker does
  std::vector<std::string>
      notes;  // a sentence for each key that has no counterpart or means something else
  std::vector<std::string> problems;  // what can't be said in a job file; then the job is not whole
};

LitgptJob ConvertLitgpt(const LitgptSource& source);

}  // namespace trainctl::client
