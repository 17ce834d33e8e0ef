// Some of a site's devices, a bit for each: what two sets share is found by words, not by devices.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trainctl::placement {

using DeviceId = int64_t;  // from 0, handed out by FreeDevices::Register

class DeviceSet {
 public:
  // Both are idempotent.
  void Insert(DeviceId id);
  void Erase(DeviceId id);
  // Of all that the other has.
  void Erase(const DeviceSet& others);

  bool Contains(DeviceId id) const {
    const auto word = static_cast<size_t>(id / kBits);
    return word < words_.size() && (words_[word] >> (id % kBits) & 1) != 0;
  }
  bool IsEmpty() const;
  // Whether they have a device in common.
  bool Meets(const DeviceSet& other) const;
  // How many they have in common.
  int64_t CountIn(const DeviceSet& other) const;

  // Whether some device is wanted: asked in their order, until one is.
  template <class IsWanted>
  bool Any(const IsWanted& is_wanted) const {
    for (size_t word = 0; word < words_.size(); ++word) {
      for (uint64_t left = words_[word]; left != 0; left &= left - 1) {
        if (is_wanted(static_cast<DeviceId>(word) * kBits + std::countr_zero(left))) return true;
      }
    }
    return false;
  }
  // How many are wanted.
  template <class IsWanted>
  int64_t Count(const IsWanted& is_wanted) const {
    int64_t count = 0;
    Any([&](DeviceId id) {
      count += is_wanted(id) ? 1 : 0;
      return false;
    });
    return count;
  }

 private:
  static constexpr int64_t kBits = 64;
  std::vector<uint64_t> words_;
};

}  // namespace trainctl::placement
