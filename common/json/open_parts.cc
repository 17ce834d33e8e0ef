#include "common/json/open_parts.h"

#include <algorithm>

namespace trainctl::job {

std::vector<OpenPart> OpenParts(std::string_view text) {
  std::vector<OpenPart> open;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool in_string = !open.empty() && open.back().opened == '"';
    if (in_string && c == '\\') {
      ++i;
    } else if (in_string ? c == '"' : c == '}' || c == ']') {
      if (!open.empty()) open.pop_back();
    } else if (!in_string && (c == '{' || c == '[' || c == '"')) {
      open.push_back({c, i});
    }
  }
  return open;
}

TextPlace PlaceOf(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const size_t newline = before.rfind('\n');
  const std::string_view line =
      newline == std::string_view::npos ? before : before.substr(newline + 1);
  const auto begins_character = [](char c) { return (c & 0xc0) != 0x80; };
  return {1 + static_cast<size_t>(std::ranges::count(before, '\n')),
          1 + static_cast<size_t>(std::ranges::count_if(line, begins_character))};
}

}  // namespace trainctl::job
