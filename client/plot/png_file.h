// PNG files (RFC 2083) of pixels with three bytes. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace trainctl::client::drawn {

struct Pixels {
  uint32_t width = 0, height = 0;
  int dots_per_inch = 0;
  std::span<const uint8_t> rgb;  // row by row
};

std::string PngFile(const Pixels& pixels);

}  // namespace trainctl::client::drawn
