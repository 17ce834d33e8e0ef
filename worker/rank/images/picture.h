// A decoded picture, and which pictures are taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/result.h"

namespace trainctl::images {

using Bytes = std::span<const std::byte>;

// 8 bits a channel, as Pillow's mode "RGB".
struct Picture {
  int64_t width = 0;
  int64_t height = 0;
  std::vector<uint8_t> rgb;  // [height × width × 3]
};

// What a header may promise before anything is decoded. A file of a few bytes can promise
// gigabytes.
inline constexpr int64_t kMostPixels = int64_t{1} << 26;
inline constexpr int64_t kLongestSide = 1 << 16;
inline constexpr size_t kMostFileBytes = size_t{256} << 20;

// kInvalid: no pixels, more than kMostPixels, or a side longer than kLongestSide.
base::Status CheckSize(int64_t width, int64_t height);

}  // namespace trainctl::images
