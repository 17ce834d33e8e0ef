// What transformers' GPT2Tokenizer takes from the files beside vocab.json and merges.txt:
// tokenizer_config.json, special_tokens_map.json and added_tokens.json, each of which may be
// absent.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::data {

// Errors: kIo, kInvalid. The message names file, key, value and what was expected.
base::Result<Gpt2Options> ReadGpt2Options(const std::string& directory);

}  // namespace trainctl::data
