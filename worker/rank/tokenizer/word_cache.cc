#include "worker/rank/tokenizer/word_cache.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace trainctl::data {
namespace {

constexpr size_t kFirstSlots = 1 << 10;

uint32_t HashOf(std::string_view word) {
  const uint64_t hash = std::hash<std::string_view>()(word);
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

// 0 is a free slot: places count from 1 here.
uint64_t SlotOf(uint32_t hash, uint32_t place) {
  return uint64_t{hash} << 32 | (uint64_t{place} + 1);
}
uint32_t HashIn(uint64_t slot) { return static_cast<uint32_t>(slot >> 32); }
uint32_t PlaceIn(uint64_t slot) { return static_cast<uint32_t>(slot) - 1; }

size_t IntsOf(size_t word_bytes) { return (word_bytes + sizeof(int32_t) - 1) / sizeof(int32_t); }

}  // namespace

WordCache::Entry WordCache::EntryAt(uint32_t place) const {
  const int32_t* entry = blocks_[place / kBlockInts].get() + place % kBlockInts;
  const auto ids = static_cast<size_t>(*entry & UINT8_MAX);
  const auto bytes = static_cast<size_t>(*entry >> 8);
  return {{entry + 1, ids}, {reinterpret_cast<const char*>(entry + 1 + ids), bytes}};
}

size_t WordCache::Find(const Table& table, uint32_t hash, std::string_view word) const {
  const size_t mask = table.slots.size() - 1;
  size_t at = hash & mask;
  while (true) {
    const uint64_t slot = table.slots[at].load(std::memory_order_acquire);
    if (slot == 0 || (HashIn(slot) == hash && EntryAt(PlaceIn(slot)).word == word)) return at;
    at = (at + 1) & mask;
  }
}

void WordCache::Grow() {
  const Table* old = tables_.empty() ? nullptr : tables_.back().get();
  auto grown = std::make_unique<Table>(old == nullptr ? kFirstSlots : 2 * old->slots.size());
  const size_t mask = grown->slots.size() - 1;
  for (size_t i = 0; old != nullptr && i < old->slots.size(); ++i) {
    const uint64_t slot = old->slots[i].load(std::memory_order_relaxed);
    if (slot == 0) continue;
    size_t at = HashIn(slot) & mask;
    while (grown->slots[at].load(std::memory_order_relaxed) != 0) at = (at + 1) & mask;
    grown->slots[at].store(slot, std::memory_order_relaxed);
  }
  table_.store(grown.get(), std::memory_order_release);
  tables_.push_back(std::move(grown));
}

bool WordCache::Append(std::string_view word, std::vector<int32_t>* ids) const {
  const Table* table = table_.load(std::memory_order_acquire);
  if (table == nullptr || word.size() > kMaxWordBytes) return false;
  const size_t at = Find(*table, HashOf(word), word);
  const uint64_t slot = table->slots[at].load(std::memory_order_acquire);
  if (slot == 0) return false;
  const Entry entry = EntryAt(PlaceIn(slot));
  // Another word may have taken the slot since it was found free.
  if (entry.word != word) return false;
  ids->insert(ids->end(), entry.ids.begin(), entry.ids.end());
  return true;
}

uint32_t WordCache::Write(std::string_view word, std::span<const int32_t> ids) {
  const size_t ints = 1 + ids.size() + IntsOf(word.size());
  if (used_ % kBlockInts + ints > kBlockInts) used_ += kBlockInts - used_ % kBlockInts;
  std::unique_ptr<int32_t[]>& block = blocks_[used_ / kBlockInts];
  if (block == nullptr) block = std::make_unique<int32_t[]>(kBlockInts);
  int32_t* entry = block.get() + used_ % kBlockInts;
  *entry = static_cast<int32_t>(ids.size() | word.size() << 8);
  std::ranges::copy(ids, entry + 1);
  if (!word.empty()) std::memcpy(entry + 1 + ids.size(), word.data(), word.size());
  const size_t place = used_;
  used_ += ints;
  return static_cast<uint32_t>(place);
}

void WordCache::Keep(std::string_view word, std::span<const int32_t> ids) {
  if (word.size() > kMaxWordBytes || ids.empty() || ids.size() > UINT8_MAX) return;
  const uint32_t hash = HashOf(word);
  const std::lock_guard lock(mutex_);
  if (words_ == kMaxWords) return;
  if (tables_.empty() || 2 * (words_ + 1) > tables_.back()->slots.size()) Grow();
  Table& table = *tables_.back();
  const size_t at = Find(table, hash, word);
  if (table.slots[at].load(std::memory_order_relaxed) != 0) return;  // another thread kept it
  table.slots[at].store(SlotOf(hash, Write(word, ids)), std::memory_order_release);
  ++words_;
}

}  // namespace trainctl::data
