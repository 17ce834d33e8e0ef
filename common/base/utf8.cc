#include "common/base/utf8.h"

#include <cstdint>

namespace trainctl::base {
namespace {

// The length of the valid sequence at the front of text, 0 where there is none. Bounds:
// Unicode's table 3-7.
size_t SequenceLength(std::string_view text) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0};
  };
  const auto is_tail = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const uint8_t lead = byte(0);
  if (text.empty()) return 0;
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4 || !is_tail(1)) return 0;
  if (lead < 0xE0) return 2;
  const uint8_t second = byte(1);
  if (lead < 0xF0) {
    const bool overlong = lead == 0xE0 && second < 0xA0;
    const bool surrogate = lead == 0xED && second > 0x9F;
    return overlong || surrogate || !is_tail(2) ? 0 : 3;
  }
  const bool overlong = lead == 0xF0 && second < 0x90;
  const bool beyond = lead == 0xF4 && second > 0x8F;
  return overlong || beyond || !is_tail(2) || !is_tail(3) ? 0 : 4;
}

}  // namespace

std::optional<CodePoint> FirstCodePoint(std::string_view text) {
  const size_t length = SequenceLength(text);
  if (length == 0) return std::nullopt;
  const auto lead = static_cast<uint8_t>(text[0]);
  char32_t value = length == 1 ? lead : lead & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) value = value << 6 | (static_cast<uint8_t>(text[i]) & 0x3F);
  return CodePoint{value, length};
}

bool IsControl(char32_t value) {
  const auto within = [value](char32_t first, char32_t last) {
    return value >= first && value <= last;
  };
  return value < 0x20 || within(0x7F, 0x9F) || value == 0x061C || within(0x200E, 0x200F) ||
         within(0x2028, 0x202E) || within(0x2066, 0x2069);
}

std::optional<size_t> FindInvalidUtf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t length = SequenceLength(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

void ReplaceInvalidUtf8(std::string* text) {
  std::string valid;
  std::string_view rest = *text;
  while (const auto fault = FindInvalidUtf8(rest)) {
    valid.append(rest.substr(0, *fault)).append("\uFFFD");
    rest.remove_prefix(*fault + 1);
  }
  if (rest.size() < text->size()) *text = valid.append(rest);
}

std::string_view WholeCharacters(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  while (max_bytes > 0 && (static_cast<uint8_t>(text[max_bytes]) & 0xC0) == 0x80) --max_bytes;
  return text.substr(0, max_bytes);
}

std::string Excerpt(std::string_view text, size_t max_bytes) {
  constexpr std::string_view kEllipsis = "…";
  std::string shown;
  size_t cut = 0;  // the longest prefix of shown that leaves room for the ellipsis
  while (!text.empty()) {
    const std::optional<CodePoint> first = FirstCodePoint(text);
    const size_t length = first ? first->bytes : 1;
    shown.append(first && !IsControl(first->value) ? text.substr(0, length) : "?");
    text.remove_prefix(length);
    if (shown.size() > max_bytes)
      return shown.substr(0, cut).append(cut + kEllipsis.size() <= max_bytes ? kEllipsis : "");
    if (shown.size() + kEllipsis.size() <= max_bytes) cut = shown.size();
  }
  return shown;
}

}  // namespace trainctl::base
