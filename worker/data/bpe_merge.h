// Byte-pair merging with a heap, O(n log n): the best pair first, ties by position. Sennrich et al. 2016, in the form that tokenizers and
// SentencePiece share; they differ only in how a pair's merge is found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <tuple>
#include <vector>

namespace trainctl::data {

// A piece of the text, linked to its neighbours.
struct Symbol {
  int32_t id = -1;
  int32_t begin = 0;   // bytes in the text
  int32_t length = 0;  // bytes; 0: merged away
  int32_t previous = -1, next = -1;
  bool frozen = false;  // never merged
};

struct Merge {
  uint32_t rank = 0;  // lower goes first
  int32_t new_id = -1;
};

// Links the symbols in their order, then merges until no pair has a merge. FindMerge: (const Symbol& left, const Symbol& right) →
// std::optional<Merge>. What is left are the symbols whose length is not 0.
template <class FindMerge>
void MergeSymbols(const FindMerge& find_merge, std::vector<Symbol>* symbols) {
  struct Candidate {
    Merge merge;
    int32_t left;
    bool operator<(const Candidate& other) const { return std::tie(other.merge.rank, other.left) < std::tie(merge.rank, left); }
  };
  std::vector<Symbol>& all = *symbols;
  const auto merge_at = [&](int32_t left) -> std::optional<Merge> {
    if (left < 0 || all[left].next < 0 || all[left].frozen || all[all[left].next].frozen) return std::nullopt;
    return find_merge(all[left], all[all[left].next]);
  };
  const int32_t count = static_cast<int32_t>(all.size());
  for (int32_t i = 0; i < count; ++i) {
    all[i].previous = i - 1;
    all[i].next = i + 1 < count ? i + 1 : -1;
  }
  std::vector<Candidate> first;
  for (int32_t i = 0; i < count; ++i) {
    if (const auto merge = merge_at(i)) first.push_back({*merge, i});
  }
  std::priority_queue<Candidate> candidates(std::less<Candidate>(), std::move(first));
  while (!candidates.empty()) {
    const auto [merge, at] = candidates.top();
    candidates.pop();
    if (all[at].length == 0) continue;
    const auto current = merge_at(at);
    if (!current || current->new_id != merge.new_id) continue;  // a neighbour changed meanwhile
    Symbol& left = all[at];
    Symbol& right = all[left.next];
    left.id = merge.new_id;
    left.length += right.length;
    left.next = right.next;
    right.length = 0;
    if (left.next >= 0) all[left.next].previous = at;
    if (const auto before = merge_at(left.previous)) candidates.push({*before, left.previous});
    if (const auto after = merge_at(at)) candidates.push({*after, at});
  }
}

}  // namespace trainctl::data
