// A hash map of strings that is asked with string_views.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace trainctl::data {

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

template <class Value>
using StringMap = std::unordered_map<std::string, Value, StringHash, std::equal_to<>>;

}  // namespace trainctl::data
