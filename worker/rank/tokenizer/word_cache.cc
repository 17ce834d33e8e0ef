#include "worker/rank/tokenizer/word_cache.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

namespace trainctl::data {
namespace {

constexpr size_t kFirstSlots = 1 << 10;

uint32_t HashOf(std::string_view word) {
  const uint64_t hash = std::hash<std::string_view>()(word);
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

}  // namespace

bool WordCache::Holds(const Slot& slot, std::string_view word) const {
  return slot.bytes == word.size() &&
         std::memcmp(entries_.data() + slot.place + slot.ids, word.data(), word.size()) == 0;
}

// The word's slot, or the free one where it belongs.
size_t WordCache::Find(uint32_t hash, std::string_view word) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  while (slots_[at].ids != 0 && (slots_[at].hash != hash || !Holds(slots_[at], word)))
    at = (at + 1) & mask;
  return at;
}

void WordCache::Grow() {
  const std::vector<Slot> old =
      std::exchange(slots_, std::vector<Slot>(std::max(kFirstSlots, 2 * slots_.size())));
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    size_t at = slot.hash & mask;
    while (slots_[at].ids != 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

bool WordCache::Append(std::string_view word, std::vector<int32_t>* ids) const {
  if (word.size() > kMaxWordBytes) return false;
  const uint32_t hash = HashOf(word);
  const std::lock_guard lock(mutex_);
  if (slots_.empty()) return false;
  const Slot& slot = slots_[Find(hash, word)];
  if (slot.ids == 0) return false;
  const int32_t* first = entries_.data() + slot.place;
  ids->insert(ids->end(), first, first + slot.ids);
  return true;
}

void WordCache::Keep(std::string_view word, std::span<const int32_t> ids) {
  if (word.size() > kMaxWordBytes || ids.empty() || ids.size() > UINT8_MAX) return;
  const uint32_t hash = HashOf(word);
  const std::lock_guard lock(mutex_);
  if (words_ == kMaxWords) return;
  if (2 * (words_ + 1) > slots_.size()) Grow();
  Slot& slot = slots_[Find(hash, word)];
  if (slot.ids != 0) return;  // another thread kept it
  slot = {.hash = hash,
          .place = static_cast<uint32_t>(entries_.size()),
          .ids = static_cast<uint8_t>(ids.size()),
          .bytes = static_cast<uint8_t>(word.size())};
  entries_.insert(entries_.end(), ids.begin(), ids.end());
  const size_t letters = entries_.size();
  entries_.resize(letters + (word.size() + sizeof(int32_t) - 1) / sizeof(int32_t));
  if (!word.empty()) std::memcpy(entries_.data() + letters, word.data(), word.size());
  ++words_;
}

}  // namespace trainctl::data
