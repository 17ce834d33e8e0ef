// UTF-8 as the standard defines it: no overlong forms, no surrogates, nothing beyond U+10FFFF.
// Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace trainctl::base {

// The offset of the first byte that begins no valid sequence; nullopt where the whole text is
// valid.
std::optional<size_t> FindInvalidUtf8(std::string_view text);

// U+FFFD in place of each byte that begins no valid sequence; a valid text is left as it is.
void ReplaceInvalidUtf8(std::string* text);

// A character: its number, and how many bytes it takes.
struct CodePoint {
  char32_t value = 0;
  size_t bytes = 0;
};

// The character at the front of the text; nullopt where no valid sequence begins, or none is there.
std::optional<CodePoint> FirstCodePoint(std::string_view text);

// What a terminal obeys instead of showing it: C0 and C1 controls, marks and overrides of writing
// direction, line and paragraph separators.
bool IsControl(char32_t value);

// The longest beginning of at most max_bytes that ends between characters.
std::string_view WholeCharacters(std::string_view text, size_t max_bytes);

// At most max_bytes, cut between characters, with "…" (counted) where something was cut; invalid
// bytes and control characters become '?', so that what a file holds can be shown on a terminal.
std::string Excerpt(std::string_view text, size_t max_bytes);

}  // namespace trainctl::base
