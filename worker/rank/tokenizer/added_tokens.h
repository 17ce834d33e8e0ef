// The "added_tokens" of a tokenizer.json: strings that stand for one id wherever they occur, found
// before the model sees the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "worker/rank/tokenizer/prefix_trie.h"

namespace trainctl::data {

struct AddedToken {
  int32_t id = 0;
  std::string content;
  bool single_word = false;  // only where no word character adjoins
  bool lstrip = false;       // swallows white space to its left
  bool rstrip = false;       // swallows white space to its right
  bool normalized = true;    // looked for in the normalized text, not in the original
  bool special = true;       // no part of what is written for people
};

// A part of a text: an added token, or what lies between two of them (id −1).
struct Segment {
  std::string_view text;
  int32_t id = -1;
};

// Immutable after the last Add; thread-safe then.
class AddedTokenMatcher {
 public:
  // content is what is looked for: the token's own, or its normalized form. Empty content is never
  // found.
  void Add(const AddedToken& token, std::string_view content);

  // The text cut at its added tokens, leftmost first and there the longest; empty segments between
  // them are left out.
  std::vector<Segment> Split(std::string_view text) const;

 private:
  std::vector<AddedToken> tokens_;
  PrefixTrie trie_;  // → index into tokens_
};

}  // namespace trainctl::data
