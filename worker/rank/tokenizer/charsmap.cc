#include "worker/rank/tokenizer/charsmap.h"

#include <cstring>

namespace trainctl::data {
namespace {

// A unit of Darts-clone's double array (Yata, "darts-clone", include/darts.h).
struct Unit {
  uint32_t bits;
  bool has_leaf() const { return bits >> 8 & 1; }
  uint32_t value() const { return bits & 0x7FFFFFFF; }
  uint32_t label() const { return bits & 0x800000FF; }
  uint32_t offset() const { return (bits >> 10) << ((bits & 0x200) >> 6); }
};

base::Error Invalid(const std::string& message) {
  return {base::Code::kInvalid, "precompiled_charsmap: " + message};
}

}  // namespace

base::Result<Charsmap> Charsmap::Parse(std::string_view blob) {
  Charsmap map;
  if (blob.empty()) return map;
  uint32_t trie_bytes = 0;
  if (blob.size() < sizeof trie_bytes) return Invalid("too short");
  std::memcpy(&trie_bytes, blob.data(), sizeof trie_bytes);
  blob.remove_prefix(sizeof trie_bytes);
  if (trie_bytes > blob.size() || trie_bytes % sizeof(uint32_t) != 0)
    return Invalid("a trie of " + std::to_string(trie_bytes) + " bytes");
  map.units_.resize(trie_bytes / sizeof(uint32_t));
  if (trie_bytes > 0) std::memcpy(map.units_.data(), blob.data(), trie_bytes);
  map.replacements_ = blob.substr(trie_bytes);
  if (map.replacements_.empty() || map.replacements_.back() != '\0')
    return Invalid("the last text does not end");
  return map;
}

Charsmap::Rule Charsmap::Longest(std::string_view text) const {
  Rule rule;
  if (units_.empty()) return rule;
  uint32_t node = Unit{units_[0]}.offset();
  for (size_t i = 0; i < text.size(); ++i) {
    const uint8_t byte = static_cast<uint8_t>(text[i]);
    node ^= byte;
    if (node >= units_.size() || Unit{units_[node]}.label() != byte) break;
    const Unit unit{units_[node]};
    node ^= unit.offset();
    if (node >= units_.size()) break;
    const uint32_t value = Unit{units_[node]}.value();
    if (unit.has_leaf() && value < replacements_.size())
      rule = {i + 1, replacements_.c_str() + value};
  }
  return rule;
}

}  // namespace trainctl::data
