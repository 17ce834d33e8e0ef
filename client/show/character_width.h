// How many columns a terminal gives to what a person takes for one character. Pure, thread-safe.
//
// The table is that of the C library, for UTF-8 whatever the locale of the process is. The wide
// characters of East Asia and emoji have two columns. Marks that stand on the character before them
// have none. Where the library has no such locale, each code point is one column.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trainctl::client {

// A code point, with the marks on it and what joiners add to it. A byte that begins no code point
// is one by itself.
struct Character {
  size_t bytes = 0;
  int columns = 0;
};

// At the front of the text, which is not empty.
Character FirstCharacter(std::string_view text);

// The text's first code points, for programs that take so many.
std::string FirstCodePoints(std::string_view text, size_t most);

}  // namespace trainctl::client
