#include "worker/rank/images/channels.h"

#include <algorithm>
#include <cstddef>

namespace trainctl::images {
namespace {

constexpr size_t kRgb = 3, kFour = 4;
constexpr uint32_t kWhite = 255;
constexpr int kPrecisionBits = 7;  // of a blend, before it is rounded

// a / 255 of Pillow: exact where a has been rounded by half of 255.
constexpr uint32_t DividedBy255(uint32_t a) { return ((a >> 8) + a) >> 8; }

constexpr uint32_t Product(uint32_t a, uint32_t b) { return DividedBy255(a * b + 128); }

}  // namespace

std::vector<uint8_t> FromGray(std::span<const uint8_t> gray) {
  std::vector<uint8_t> rgb(kRgb * gray.size());
  for (size_t i = 0; i < gray.size(); ++i) std::fill_n(&rgb[kRgb * i], kRgb, gray[i]);
  return rgb;
}

std::vector<uint8_t> FromInvertedCmyk(std::span<const uint8_t> cmyk) {
  std::vector<uint8_t> rgb(cmyk.size() / kFour * kRgb);
  for (size_t i = 0; i < cmyk.size() / kFour; ++i) {
    const uint8_t* pixel = &cmyk[kFour * i];
    const uint32_t not_black = pixel[3];
    for (size_t channel = 0; channel < kRgb; ++channel) {
      rgb[kRgb * i + channel] =
          static_cast<uint8_t>(not_black - Product(kWhite - pixel[channel], not_black));
    }
  }
  return rgb;
}

std::vector<uint8_t> OnWhite(std::span<const uint8_t> rgba) {
  std::vector<uint8_t> rgb(rgba.size() / kFour * kRgb);
  for (size_t i = 0; i < rgba.size() / kFour; ++i) {
    const uint8_t* pixel = &rgba[kFour * i];
    const uint32_t alpha = pixel[3];
    const uint32_t ours = alpha << kPrecisionBits, rest = (kWhite << kPrecisionBits) - ours;
    for (size_t channel = 0; channel < kRgb; ++channel) {
      const uint32_t sum = pixel[channel] * ours + kWhite * rest;
      rgb[kRgb * i + channel] =
          static_cast<uint8_t>(DividedBy255(sum + (0x80u << kPrecisionBits)) >> kPrecisionBits);
    }
  }
  return rgb;
}

}  // namespace trainctl::images
