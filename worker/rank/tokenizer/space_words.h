// LLaMA's tokenizers merge across a whole text, whose spaces are "▁". Yet in their vocabularies a
// "▁" that follows another character only ever begins a piece. If that holds, no merge can cross
// such a place. So the text can be cut there, word by word, with the same result, and words can be
// remembered.
#pragma once

#include <string_view>

#include "worker/rank/tokenizer/utf8.h"

namespace trainctl::data {

// Whether some "▁" of the text follows another character: a vocabulary with such a piece must not
// be cut.
inline bool HasInnerSpace(std::string_view text) {
  for (size_t at = text.find(kSpaceSymbol); at != std::string_view::npos;
       at = text.find(kSpaceSymbol, at + kSpaceSymbol.size())) {
    if (at > 0 && !text.substr(0, at).ends_with(kSpaceSymbol)) return true;
  }
  return false;
}

// The text up to its first "▁" that follows another character; empty only where the text is.
inline std::string_view FirstSpaceWord(std::string_view text) {
  size_t at = 0;
  while (text.substr(at).starts_with(kSpaceSymbol)) at += kSpaceSymbol.size();
  return text.substr(0, text.find(kSpaceSymbol, at));
}

}  // namespace trainctl::data
