#include "client/litgpt/command.h"

#include <algorithm>
#include <sstream>
#include <utility>

namespace trainctl::client {
namespace {

base::Error Invalid(std::string message) { return {base::Code::kInvalid, std::move(message)}; }

bool IsYaml(const std::string& word) { return word.ends_with(".yaml") || word.ends_with(".yml"); }

// A command that was pasted within quotes; the backslashes are those of its continued lines.
std::vector<std::string> SplitPasted(std::vector<std::string> words) {
  if (words.size() != 1 || words[0].find(' ') == std::string::npos) return words;
  std::istringstream text(words[0]);
  std::vector<std::string> split;
  for (std::string word; text >> word;) {
    if (word != "\\") split.push_back(word);
  }
  return split;
}

// What people have before it: CUDA_VISIBLE_DEVICES=0 python -m litgpt.
void DropLauncher(std::vector<std::string>* words) {
  const auto is_launcher = [](const std::string& word) {
    return word == "-m" || word.find("python") != std::string::npos ||
           (!word.starts_with("-") && word.find('=') != std::string::npos);
  };
  const auto first = std::find_if_not(words->begin(), words->end(), is_launcher);
  if (first != words->end() && (*first == "litgpt" || first->ends_with("/litgpt")))
    words->erase(words->begin(), first + 1);
}

// The verb, also as "finetune lora". kInvalid: one that has no counterpart.
base::Result<LitgptMethod> TakeVerb(std::vector<std::string>* words) {
  if (words->empty()) return LitgptMethod::kUnsaid;
  std::string verb = words->front();
  if (verb == "finetune" && words->size() > 1 &&
      ((*words)[1] == "lora" || (*words)[1] == "full" || (*words)[1].starts_with("adapter"))) {
    verb += "_" + (*words)[1];
    words->erase(words->begin());
  }
  const bool is_lora = verb == "finetune" || verb == "finetune_lora";
  if (is_lora || verb == "finetune_full") {
    words->erase(words->begin());
    return is_lora ? LitgptMethod::kLora : LitgptMethod::kFull;
  }
  for (const char* other :
       {"finetune_adapter", "finetune_adapter_v2", "pretrain", "download", "chat", "generate",
        "evaluate", "serve", "merge_lora", "convert_to_litgpt", "convert_from_litgpt"}) {
    if (verb == other)
      return Invalid("litgpt " + verb +
                     " has no counterpart here: expected finetune_full or finetune_lora");
  }
  return LitgptMethod::kUnsaid;
}

base::Status TakePositional(const std::string& word, LitgptCommand* command) {
  if (IsYaml(word)) {
    if (!command->config.empty())
      return Invalid("two configuration files: " + command->config + " and " + word);
    command->config = word;
    return base::Ok{};
  }
  const auto is_model = [](const LitgptSetting& setting) {
    return setting.key == "checkpoint_dir";
  };
  const auto earlier = std::find_if(command->overrides.begin(), command->overrides.end(), is_model);
  if (earlier != command->overrides.end())
    return Invalid("two models: " + earlier->value + " and " + word);
  command->overrides.push_back({"checkpoint_dir", word, "the command line"});
  return base::Ok{};
}

}  // namespace

base::Result<LitgptCommand> ReadLitgptCommand(std::vector<std::string> words) {
  words = SplitPasted(std::move(words));
  DropLauncher(&words);
  const base::Result<LitgptMethod> method = TakeVerb(&words);
  if (!method.ok()) return method.error();
  LitgptCommand command{.method = *method};
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("--")) {
      if (const base::Status taken = TakePositional(word, &command); !taken.ok())
        return taken.error();
      continue;
    }
    const size_t equals = word.find('=');
    const std::string option = word.substr(0, equals);
    if (equals == std::string::npos && (i + 1 == words.size() || words[i + 1].starts_with("--"))) {
      return Invalid(option + ": expected a value after it, as LitGPT does");
    }
    const std::string value = equals == std::string::npos ? words[++i] : word.substr(equals + 1);
    if (option == "--config") {
      if (const base::Status taken = TakePositional(value, &command); !taken.ok())
        return taken.error();
      if (command.config != value) return Invalid("--config " + value + ": expected a .yaml file");
    } else {
      command.overrides.push_back({PlainLitgptKey(option.substr(2)), value, option});
    }
  }
  return command;
}

}  // namespace trainctl::client
