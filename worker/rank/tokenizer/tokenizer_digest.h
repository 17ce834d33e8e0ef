// Whether two tokenizers make the same tokens, whatever files they were read from.
#pragma once

#include <string>

#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::data {

// Of the ids of a text of many languages, code and numbers. Thread-safe.
std::string DigestOf(const Tokenizer& tokenizer);

}  // namespace trainctl::data
