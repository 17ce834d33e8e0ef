// What a vision model takes of a picture: BLIP's image processor of transformers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "worker/rank/images/picture.h"

namespace trainctl::images {

// [side × side × 3]: the picture squeezed to a square, in 8 bits.
using Pixels = std::vector<uint8_t>;

constexpr int64_t PixelBytes(int64_t side) { return side * side * 3; }

Pixels PixelsOf(const Picture& picture, int64_t side);

// [3, side, side] fp32: divided by 255, less CLIP's mean, over CLIP's standard deviation; equal to
// transformers' to the last bit. out holds as many numbers as there are bytes. Thread-safe.
void Normalize(std::span<const uint8_t> pixels, std::span<float> out);

}  // namespace trainctl::images
