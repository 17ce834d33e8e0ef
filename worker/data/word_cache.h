// Words seen before and their ids: most words of a text repeat. Bounded: once full, new words are not kept.
#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "worker/data/string_map.h"

namespace trainctl::data {

// Thread-safe.
class WordCache {
 public:
  // Appends the word's ids and is true, where it is known.
  bool Append(std::string_view word, std::vector<int32_t>* ids) const {
    const std::lock_guard lock(mutex_);
    const auto found = ids_.find(word);
    if (found == ids_.end()) return false;
    ids->insert(ids->end(), found->second.begin(), found->second.end());
    return true;
  }

  void Keep(std::string_view word, std::vector<int32_t> ids) {
    if (word.size() > kMaxWordBytes) return;
    const std::lock_guard lock(mutex_);
    if (ids_.size() < kMaxWords) ids_.emplace(word, std::move(ids));
  }

 private:
  static constexpr size_t kMaxWords = 1 << 16;
  static constexpr size_t kMaxWordBytes = 128;

  mutable std::mutex mutex_;
  StringMap<std::vector<int32_t>> ids_;
};

}  // namespace trainctl::data
