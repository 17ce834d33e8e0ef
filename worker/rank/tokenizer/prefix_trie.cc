#include "worker/rank/tokenizer/prefix_trie.h"

#include "common/base/check.h"

namespace trainctl::data {

void PrefixTrie::Add(std::string_view key, int32_t value) {
  CHECK(!key.empty());
  if (values_.empty()) values_.push_back(-1);
  starts_[static_cast<uint8_t>(key.front())] = true;
  int32_t node = 0;
  for (const char byte : key) {
    const auto [edge, is_new] =
        edges_.emplace(Edge(node, byte), static_cast<int32_t>(values_.size()));
    if (is_new) values_.push_back(-1);
    node = edge->second;
  }
  if (values_[node] < 0) values_[node] = value;
}

PrefixTrie::Match PrefixTrie::Longest(std::string_view text) const {
  Match longest;
  if (text.empty() || !starts_[static_cast<uint8_t>(text.front())]) return longest;
  int32_t node = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto edge = edges_.find(Edge(node, text[i]));
    if (edge == edges_.end()) break;
    node = edge->second;
    if (values_[node] >= 0) longest = {i + 1, values_[node]};
  }
  return longest;
}

}  // namespace trainctl::data
