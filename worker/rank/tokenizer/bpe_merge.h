// Byte-pair merging, O(n log n) with a heap where the text is long: the best pair first, ties by
// position. Sennrich et al. 2016, in the form that tokenizers and SentencePiece share; they differ
// only in how a pair's merge is found.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>
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

// Words are short: below this, looking at all pairs for the best one is faster than a heap.
constexpr int32_t kMostScanned = 32;

// The pairs of a list of symbols and the merges that they have. FindMerge: (const Symbol& left,
// const Symbol& right) → std::optional<Merge>.
template <class FindMerge>
class MergingSymbols {
 public:
  MergingSymbols(const FindMerge& find_merge, std::vector<Symbol>* symbols)
      : find_merge_(find_merge), all_(*symbols) {
    const int32_t count = static_cast<int32_t>(all_.size());
    for (int32_t i = 0; i < count; ++i) {
      all_[i].previous = i - 1;
      all_[i].next = i + 1 < count ? i + 1 : -1;
    }
  }

  // Of the pair whose left symbol this is.
  std::optional<Merge> MergeAt(int32_t left) const {
    if (left < 0 || all_[left].next < 0 || all_[left].frozen || all_[all_[left].next].frozen)
      return std::nullopt;
    return find_merge_(all_[left], all_[all_[left].next]);
  }

  void Join(int32_t at, int32_t new_id) {
    Symbol& left = all_[at];
    Symbol& right = all_[left.next];
    left.id = new_id;
    left.length += right.length;
    left.next = right.next;
    right.length = 0;
    if (left.next >= 0) all_[left.next].previous = at;
  }

 private:
  const FindMerge& find_merge_;
  std::vector<Symbol>& all_;
};

template <class FindMerge>
void MergeByScan(const FindMerge& find_merge, std::vector<Symbol>* symbols) {
  constexpr uint32_t kNone = UINT32_MAX;
  MergingSymbols<FindMerge> pairs(find_merge, symbols);
  const int32_t count = static_cast<int32_t>(symbols->size());
  std::array<Merge, kMostScanned> merges;  // by the left symbol
  const auto look = [&](int32_t left) {
    if (left >= 0) merges[left] = pairs.MergeAt(left).value_or(Merge{kNone, -1});
  };
  for (int32_t i = 0; i < count; ++i) look(i);
  while (true) {
    int32_t best = 0;
    for (int32_t i = 1; i < count; ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (count == 0 || merges[best].rank == kNone) return;
    merges[(*symbols)[best].next].rank = kNone;
    pairs.Join(best, merges[best].new_id);
    look(best);
    look((*symbols)[best].previous);
  }
}

template <class FindMerge>
void MergeByHeap(const FindMerge& find_merge, std::vector<Symbol>* symbols) {
  struct Candidate {
    Merge merge;
    int32_t left;
    bool operator<(const Candidate& other) const {
      return std::tie(other.merge.rank, other.left) < std::tie(merge.rank, left);
    }
  };
  std::vector<Symbol>& all = *symbols;
  MergingSymbols<FindMerge> pairs(find_merge, symbols);
  std::vector<Candidate> first;
  for (int32_t i = 0; i < static_cast<int32_t>(all.size()); ++i) {
    if (const auto merge = pairs.MergeAt(i)) first.push_back({*merge, i});
  }
  std::priority_queue<Candidate> candidates(std::less<Candidate>(), std::move(first));
  while (!candidates.empty()) {
    const auto [merge, at] = candidates.top();
    candidates.pop();
    if (all[at].length == 0) continue;
    const auto current = pairs.MergeAt(at);
    if (!current || current->new_id != merge.new_id) continue;  // a neighbour changed meanwhile
    pairs.Join(at, merge.new_id);
    if (const auto before = pairs.MergeAt(all[at].previous))
      candidates.push({*before, all[at].previous});
    if (const auto after = pairs.MergeAt(at)) candidates.push({*after, at});
  }
}

// Links the symbols in their order, then merges until no pair has a merge. What is left are the
// symbols whose length is not 0.
template <class FindMerge>
void MergeSymbols(const FindMerge& find_merge, std::vector<Symbol>* symbols) {
  if (symbols->size() <= kMostScanned) return MergeByScan(find_merge, symbols);
  MergeByHeap(find_merge, symbols);
}

}  // namespace trainctl::data
