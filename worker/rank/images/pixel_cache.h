// Pictures as models take them, kept by the content of their files. Equal files are decoded once.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "worker/rank/images/pixels.h"

namespace trainctl::images {

// Thread-safe.
class PixelCache {
 public:
  explicit PixelCache(int64_t most_pictures) : most_pictures_(most_pictures) {}

  // nullptr: it is not there.
  std::shared_ptr<const Pixels> Find(std::string_view file) const;

  // Once the cache is full, new pictures are left out. An epoch reads each picture once, in an
  // order of its own: dropping the oldest would drop what the next epoch needs.
  void Keep(std::string_view file, std::shared_ptr<const Pixels> pixels);

  int64_t pictures() const;

 private:
  // Two files are one if length and XXH64 are equal.
  static std::string KeyOf(std::string_view file);

  const int64_t most_pictures_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const Pixels>> kept_;
};

}  // namespace trainctl::images
