#include "worker/rank/data/prompt.h"

namespace trainctl::data {

std::string AlpacaPrompt(std::string_view instruction, std::string_view input) {
  std::string prompt;
  if (input.empty()) {
    prompt +=
        "Below is an instruction that describes a task. Write a response that appropriately "
        "completes the request.\n\n";
    prompt.append("### Instruction:\n").append(instruction);
  } else {
    prompt +=
        "Below is an instruction that describes a task, paired with an input that provides further "
        "context. ";
    prompt += "Write a response that appropriately completes the request.\n\n";
    prompt.append("### Instruction:\n")
        .append(instruction)
        .append("\n\n### Input:\n")
        .append(input);
  }
  return prompt + "\n\n### Response:\n";
}

}  // namespace trainctl::data
