// A set of strings with values, asked for the longest one that a text starts with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace trainctl::data {

// Immutable after the last Add; thread-safe then.
class PrefixTrie {
 public:
  struct Match {
    size_t length = 0;  // 0: none
    int32_t value = -1;
  };

  // key is not empty. A key that is there already keeps its first value.
  void Add(std::string_view key, int32_t value);
  Match Longest(std::string_view text) const;
  bool empty() const { return values_.empty(); }

 private:
  static uint64_t Edge(int32_t node, char byte) {
    return static_cast<uint64_t>(node) << 8 | static_cast<uint8_t>(byte);
  }

  std::unordered_map<uint64_t, int32_t> edges_;  // (node, byte) → node; node 0 is the root
  std::vector<int32_t> values_;                  // by node; −1: no key ends here
  std::array<bool, 256>
      starts_{};  // bytes that some key starts with: most positions of a text end here
};

}  // namespace trainctl::data
