// (left id, right id) → merge, by open addressing: the lookup that encoding spends its time in.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "worker/rank/tokenizer/bpe_merge.h"

namespace trainctl::data {

// Immutable after the last Insert; thread-safe then.
class MergeTable {
 public:
  explicit MergeTable(size_t pairs = 0) : slots_(std::bit_ceil(2 * pairs + 2)) {}

  // At most as many pairs as announced. A pair that is there already is replaced, as in tokenizers.
  void Insert(int32_t left, int32_t right, Merge merge) {
    slots_[Place(Key(left, right))] = {Key(left, right), merge};
  }

  std::optional<Merge> Find(int32_t left, int32_t right) const {
    const Slot& slot = slots_[Place(Key(left, right))];
    if (slot.key == kEmpty) return std::nullopt;
    return slot.merge;
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};
  struct Slot {
    uint64_t key = kEmpty;
    Merge merge;
  };

  static uint64_t Key(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }

  // Of the key, or of the empty slot where it belongs. Fibonacci hashing (Knuth, TAOCP vol.
  // 3, 6.4).
  size_t Place(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    size_t place = (key * 0x9E3779B97F4A7C15u) >> 32 & mask;
    while (slots_[place].key != kEmpty && slots_[place].key != key) place = (place + 1) & mask;
    return place;
  }

  std::vector<Slot> slots_;
};

}  // namespace trainctl::data
