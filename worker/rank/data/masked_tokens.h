// Tokens of a row, and which of their labels count.
#pragma once

#include <cstdint>
#include <vector>

namespace trainctl::data {

// Tokens [begin, end).
struct TokenSpan {
  int64_t begin = 0;
  int64_t end = 0;
};

struct MaskedTokens {
  std::vector<int32_t> ids;
  std::vector<TokenSpan> ignored;  // of ids, ascending and apart: their labels do not count
};

}  // namespace trainctl::data
