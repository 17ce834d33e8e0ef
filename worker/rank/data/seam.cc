#include "worker/rank/data/seam.h"

#include <algorithm>

namespace trainctl::data {

size_t TokensBefore(const Tokenizer& tokenizer, std::span<const int32_t> before,
                    std::span<const int32_t> whole) {
  const auto same = static_cast<size_t>(std::ranges::mismatch(before, whole).in1 - before.begin());
  if (same == before.size()) return same;
  // The last words of the beginning are cut otherwise: their text says which of the tokens end
  // within it.
  const size_t length = tokenizer.Decode(before.subspan(same)).size();
  size_t tokens = same;
  while (tokens < whole.size() &&
         tokenizer.Decode(whole.subspan(same, tokens + 1 - same)).size() <= length)
    ++tokens;
  return tokens;
}

}  // namespace trainctl::data
