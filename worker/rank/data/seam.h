// Where a text that goes on becomes other tokens.
#pragma once

#include <cstdint>
#include <span>

#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::data {

// whole are the ids of a text, before those of its beginning alone. How many of whole lie in the
// beginning: a token across the seam does not.
size_t TokensBefore(const Tokenizer& tokenizer, std::span<const int32_t> before,
                    std::span<const int32_t> whole);

}  // namespace trainctl::data
