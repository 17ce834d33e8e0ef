#include "server/placement/device_set.h"

#include <algorithm>

namespace trainctl::placement {

void DeviceSet::Insert(DeviceId id) {
  const auto word = static_cast<size_t>(id / kBits);
  if (word >= words_.size()) words_.resize(word + 1);
  words_[word] |= uint64_t{1} << (id % kBits);
}

void DeviceSet::Erase(DeviceId id) {
  const auto word = static_cast<size_t>(id / kBits);
  if (word < words_.size()) words_[word] &= ~(uint64_t{1} << (id % kBits));
}

void DeviceSet::Erase(const DeviceSet& others) {
  const size_t words = std::min(words_.size(), others.words_.size());
  for (size_t word = 0; word < words; ++word) words_[word] &= ~others.words_[word];
}

bool DeviceSet::IsEmpty() const {
  return std::ranges::all_of(words_, [](uint64_t word) { return word == 0; });
}

bool DeviceSet::Meets(const DeviceSet& other) const {
  const size_t words = std::min(words_.size(), other.words_.size());
  for (size_t word = 0; word < words; ++word) {
    if ((words_[word] & other.words_[word]) != 0) return true;
  }
  return false;
}

int64_t DeviceSet::CountIn(const DeviceSet& other) const {
  const size_t words = std::min(words_.size(), other.words_.size());
  int64_t count = 0;
  for (size_t word = 0; word < words; ++word) {
    const uint64_t both = words_[word] & other.words_[word];
    if (both != 0) count += std::popcount(both);  // most words of what is free are empty
  }
  return count;
}

}  // namespace trainctl::placement
