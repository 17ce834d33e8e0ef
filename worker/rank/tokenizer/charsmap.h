// SentencePiece's "precompiled character map": normalization rules (NFKC and the like) as a
// double-array trie.
//   u32 trie bytes | trie (Darts-clone: u32 units) | replacement texts, each ended by NUL; a trie
//   value is the offset of its text
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace trainctl::data {

// Immutable; thread-safe. A default one has no rules.
class Charsmap {
 public:
  // An empty blob has no rules. kInvalid: lengths that do not fit, texts that do not end.
  static base::Result<Charsmap> Parse(std::string_view blob);

  struct Rule {
    size_t length = 0;  // bytes of the text that it replaces; 0: none applies
    std::string_view replacement;
  };
  // The longest rule for what the text starts with.
  Rule Longest(std::string_view text) const;

 private:
  std::vector<uint32_t> units_;
  std::string replacements_;
};

}  // namespace trainctl::data
