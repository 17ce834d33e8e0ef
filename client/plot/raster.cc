#include "client/plot/raster.h"

#include <cstdlib>

#include "client/plot/dots_of_line.h"

namespace trainctl::client {
namespace {

constexpr int kPenReach = 1;  // pixels to each side

}  // namespace

Rgb ParseRgb(const char* text) {
  const long value = std::strtol(text + 1, nullptr, 16);
  return {static_cast<uint8_t>(value >> 16), static_cast<uint8_t>(value >> 8),
          static_cast<uint8_t>(value)};
}

Raster::Raster(int width, int height)
    : width_(width),
      height_(height),
      pixels_(4 * static_cast<size_t>(width) * static_cast<size_t>(height)) {}

void Raster::Line(int x, int y, int to_x, int to_y, Rgb colour) {
  DotsOfLine(x, y, to_x, to_y, [&](int dot_x, int dot_y) {
    for (int down = -kPenReach; down <= kPenReach; ++down) {
      for (int right = -kPenReach; right <= kPenReach; ++right)
        Dot(dot_x + right, dot_y + down, colour);
    }
  });
}

void Raster::Dot(int x, int y, Rgb colour) {
  if (x < 0 || x >= width_ || y < 0 || y >= height_) return;
  uint8_t* pixel =
      &pixels_[4 * (static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x))];
  for (size_t i = 0; i < colour.size(); ++i) pixel[i] = colour[i];
  pixel[3] = 255;
}

}  // namespace trainctl::client
