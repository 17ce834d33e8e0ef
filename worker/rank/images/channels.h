// Other channels to RGB, to the last bit as Pillow computes it (libImaging: Convert.c,
// AlphaComposite.c). Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trainctl::images {

// gray: a byte a pixel.
std::vector<uint8_t> FromGray(std::span<const uint8_t> gray);

// cmyk: four bytes a pixel, each inverted, as Adobe writes them into JPEG.
std::vector<uint8_t> FromInvertedCmyk(std::span<const uint8_t> cmyk);

// rgba: four bytes a pixel, colours not multiplied by alpha; composed over white.
std::vector<uint8_t> OnWhite(std::span<const uint8_t> rgba);

}  // namespace trainctl::images
