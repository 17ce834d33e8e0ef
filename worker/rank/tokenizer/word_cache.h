// Words seen before and their ids: most words of a text repeat. Bounded: once full, new words are
// not kept.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

namespace trainctl::data {

// Thread-safe. Open addressing; a word's ids and bytes lie side by side, so that a hit reads two
// cache lines.
class WordCache {
 public:
  // Appends the word's ids and is true, where it is known.
  bool Append(std::string_view word, std::vector<int32_t>* ids) const;
  void Keep(std::string_view word, std::span<const int32_t> ids);

 private:
  static constexpr size_t kMaxWords = 1 << 18;
  static constexpr size_t kMaxWordBytes = 128;

  struct Slot {
    uint32_t hash = 0;
    uint32_t place = 0;  // in entries_: the ids, then the bytes
    uint8_t ids = 0;     // 0: the slot is free
    uint8_t bytes = 0;
  };

  bool Holds(const Slot& slot, std::string_view word) const;
  size_t Find(uint32_t hash, std::string_view word) const;
  void Grow();

  mutable std::mutex mutex_;
  std::vector<Slot> slots_;  // a power of two, at most half of them taken
  size_t words_ = 0;
  std::vector<int32_t> entries_;
};

}  // namespace trainctl::data
