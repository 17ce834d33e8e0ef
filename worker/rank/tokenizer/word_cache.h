// Words seen before and their ids: most words of a text repeat. Bounded: once full, new words are
// not kept.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

namespace trainctl::data {

// Thread-safe. Who reads waits for nobody: several threads tokenize with one cache.
//
// Open addressing. A slot is one atomic number, the word's hash and place, which is set when the
// entry is there: its lengths, ids and bytes, side by side in a block that never moves.
class WordCache {
 public:
  // Appends the word's ids and is true, where it is known.
  bool Append(std::string_view word, std::vector<int32_t>* ids) const;
  void Keep(std::string_view word, std::span<const int32_t> ids);

 private:
  static constexpr size_t kMaxWords = 1 << 18;
  static constexpr size_t kMaxWordBytes = 128;
  static constexpr size_t kBlockInts = 1 << 16;
  static constexpr size_t kMostEntryInts = 1 + UINT8_MAX + kMaxWordBytes / sizeof(int32_t);
  // A block's end may be lost, where the next entry does not fit.
  static constexpr size_t kMaxBlocks =
      kMaxWords * kMostEntryInts / (kBlockInts - kMostEntryInts) + 1;

  struct Table {
    explicit Table(size_t count) : slots(count) {}
    std::vector<std::atomic<uint64_t>> slots;  // a power of two, at most half of them taken
  };
  struct Entry {
    std::span<const int32_t> ids;
    std::string_view word;
  };

  Entry EntryAt(uint32_t place) const;
  // The word's slot, or the free one where it belongs.
  size_t Find(const Table& table, uint32_t hash, std::string_view word) const;
  void Grow();
  uint32_t Write(std::string_view word, std::span<const int32_t> ids);

  std::atomic<const Table*> table_{nullptr};
  std::array<std::unique_ptr<int32_t[]>, kMaxBlocks> blocks_;

  std::mutex mutex_;                            // of who keeps; guards what follows
  std::vector<std::unique_ptr<Table>> tables_;  // the last is table_; others may still be read
  size_t words_ = 0;
  size_t used_ = 0;  // ints of all blocks, those lost at their ends too
};

}  // namespace trainctl::data
