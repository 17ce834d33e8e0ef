// Which brackets and string a JSON text opens and does not close: of a text that ends too early.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace trainctl::job {

struct OpenPart {
  char opened = '{';  // or '[', or '"'
  size_t offset = 0;  // of it, in bytes
};

// Outermost first. What no JSON has is passed over. Work is linear in the text.
std::vector<OpenPart> OpenParts(std::string_view text);

// Both from 1. A column counts characters.
struct TextPlace {
  size_t line = 1, column = 1;
};

TextPlace PlaceOf(std::string_view text, size_t offset);

}  // namespace trainctl::job
