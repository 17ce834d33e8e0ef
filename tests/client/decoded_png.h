// PNG files as the client writes them, read again by zlib alone.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace trainctl::client {

struct DecodedPng {
  uint32_t width = 0, height = 0, dots_per_metre = 0;
  std::vector<uint8_t> rgb;

  std::array<int, 3> At(size_t x, size_t y) const;
};

// Fails the test where a chunk's sum, the order of chunks or the pixels' number is wrong.
DecodedPng DecodePng(const std::string& file);

}  // namespace trainctl::client
