#include "worker/rank/images/pixel_cache.h"

#include <utility>

#include "worker/rank/files/digest.h"

namespace trainctl::images {

std::string PixelCache::KeyOf(std::string_view file) {
  return std::to_string(file.size()) + " " + files::Digest(std::as_bytes(std::span(file)));
}

std::shared_ptr<const Pixels> PixelCache::Find(std::string_view file) const {
  const std::string key = KeyOf(file);
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(key);
  return found == kept_.end() ? nullptr : found->second;
}

void PixelCache::Keep(std::string_view file, std::shared_ptr<const Pixels> pixels) {
  std::string key = KeyOf(file);
  const std::lock_guard lock(mutex_);
  if (std::ssize(kept_) < most_pictures_) kept_.emplace(std::move(key), std::move(pixels));
}

int64_t PixelCache::pictures() const {
  const std::lock_guard lock(mutex_);
  return std::ssize(kept_);
}

}  // namespace trainctl::images
