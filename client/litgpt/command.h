// A LitGPT command line as it was pasted, its configuration file still unread. Pure.
#pragma once

#include <string>
#include <vector>

#include "client/litgpt/setting.h"
#include "common/base/result.h"

namespace trainctl::client {

enum class LitgptMethod { kUnsaid, kFull, kLora };

struct LitgptCommand {
  LitgptMethod method = LitgptMethod::kUnsaid;
  std::string config;        // path of the YAML; empty: none
  LitgptSettings overrides;  // of the command line; checkpoint_dir too
};

// "litgpt finetune_lora CKPT --config x.yaml --train.epochs 3", without what stands before
// "litgpt", with or without that and the verb; or all of it as one quoted word. kInvalid: another
// verb than finetune_full and finetune_lora, an option without its value, two files.
base::Result<LitgptCommand> ReadLitgptCommand(std::vector<std::string> words);

}  // namespace trainctl::client
