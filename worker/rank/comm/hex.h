// Bytes as lower-case hex digits, for the rendezvous blobs.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace trainctl::comm {

inline std::string ToHex(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<size_t>(byte >> 4)];
    text += kDigits[std::to_integer<size_t>(byte & std::byte{15})];
  }
  return text;
}

// Fills bytes; false where text is not exactly two digits for each.
inline bool FromHex(std::string_view text, std::span<std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (text.size() != 2 * bytes.size() || text.find_first_not_of(kDigits) != text.npos) {
    return false;
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] =
        static_cast<std::byte>(kDigits.find(text[2 * i]) * 16 + kDigits.find(text[2 * i + 1]));
  }
  return true;
}

}  // namespace trainctl::comm
