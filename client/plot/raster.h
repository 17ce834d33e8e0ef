// Pixels of lines, for terminals that show pictures. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace trainctl::client {

using Rgb = std::array<uint8_t, 3>;

// "#0072b2".
Rgb ParseRgb(const char* text);

// On a ground that lets the terminal's own through.
class Raster {
 public:
  Raster(int width, int height);

  int width() const { return width_; }
  int height() const { return height_; }
  // With a pen three pixels wide; from the upper left.
  void Line(int x, int y, int to_x, int to_y, Rgb colour);
  // Four bytes each, row by row: red, green, blue, opacity.
  const std::vector<uint8_t>& pixels() const { return pixels_; }

 private:
  void Dot(int x, int y, Rgb colour);

  int width_, height_;
  std::vector<uint8_t> pixels_;
};

}  // namespace trainctl::client
