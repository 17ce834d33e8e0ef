// Added tokens: strings that stand for one id wherever they occur, found before the model sees the
// text. A tokenizer's own file has some, the files beside it others (added_token_files.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/rank/tokenizer/prefix_trie.h"

namespace trainctl::data {

struct AddedToken {
  int32_t id = 0;  // −1: not told
  std::string content;
  bool single_word = false;  // only where no word character adjoins
  bool lstrip = false;       // swallows white space to its left
  bool rstrip = false;       // swallows white space to its right
  bool normalized = true;    // looked for in the normalized text, not in the original
  bool special = true;       // no part of what is written for people
};

// Those of the files beside a tokenizer's own.
struct TokensBeside {
  std::vector<AddedToken> listed;  // count before what the tokenizer's own file says of them
  std::vector<AddedToken> named;   // count where neither it nor the list has them
};

// own: of the tokenizer's own file. Ids are the vocabulary's (id_of gives −1: not there), else
// those that are told, else the next behind the vocabulary and all that are told. tokenizers
// numbers the told ones anew if they leave a gap; here they keep their ids.
std::vector<AddedToken> JoinAddedTokens(std::vector<AddedToken> own, const TokensBeside& beside,
                                        const std::function<int32_t(std::string_view)>& id_of,
                                        int64_t vocabulary);

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
