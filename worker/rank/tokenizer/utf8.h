// UTF-8, character by character.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trainctl::data {

struct Utf8Char {
  char32_t code = 0xFFFD;
  size_t length = 1;  // bytes; of an ill-formed sequence its maximal subpart (Unicode 15, table 3-7
                      // and section 3.9)
  bool well_formed = false;
};

// The first character of a text that is not empty.
Utf8Char FirstChar(std::string_view text);

void AppendUtf8(char32_t code, std::string* text);

// The text itself where it is well formed; else a copy in *storage with U+FFFD for each ill-formed
// sequence.
std::string_view RepairUtf8(std::string_view text, std::string* storage);

// The UTF-8 form of "▁" (U+2581), by which SentencePiece writes a space.
constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";

}  // namespace trainctl::data
