// Whole numbers within names and options. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace trainctl::base {

// A number from 0, and nothing before or behind it. nullopt for any other text, and for a number
// that is too large.
std::optional<int64_t> ParseNumber(std::string_view text);

}  // namespace trainctl::base
