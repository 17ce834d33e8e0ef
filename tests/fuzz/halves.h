// Inputs of two files.
#pragma once

#include <string_view>
#include <utility>

namespace trainctl::fuzz {

// What stands before the first zero byte, and what behind it.
inline std::pair<std::string_view, std::string_view> Halves(std::string_view bytes) {
  const size_t zero = bytes.find('\0');
  if (zero == std::string_view::npos) return {bytes, {}};
  return {bytes.substr(0, zero), bytes.substr(zero + 1)};
}

}  // namespace trainctl::fuzz
