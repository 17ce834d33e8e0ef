// What transformers' GPT2Tokenizer and Qwen2Tokenizer take from the files beside vocab.json and
// merges.txt: tokenizer_config.json, which may be absent, and those of added tokens.
#pragma once

#include <string>

#include "common/base/result.h"
#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::data {

// Which of the two it is, tokenizer_class of tokenizer_config.json says, else model_type of
// config.json. GPT-2's where neither is there.
// Errors: kIo, kInvalid (a class or a model of another tokenizer too). The message names file, key,
// value and what was expected.
base::Result<Gpt2Options> ReadGpt2Options(const std::string& directory);

}  // namespace trainctl::data
