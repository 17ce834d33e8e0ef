#include "client/plot/sixel_picture.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "client/show/escaping.h"

namespace trainctl::client {
namespace {

constexpr int kBandHeight = 6;  // pixels that one character stands for

// Sixel colours are in percent.
int Percent(uint8_t value) { return static_cast<int>(std::lround(value * 100 / 255.0)); }

const uint8_t* PixelAt(const Raster& raster, int x, int y) {
  const size_t place = static_cast<size_t>(y) * static_cast<size_t>(raster.width());
  return &raster.pixels()[4 * (place + static_cast<size_t>(x))];
}

Rgb ColourOf(const uint8_t* pixel) { return {pixel[0], pixel[1], pixel[2]}; }

std::set<Rgb> ColoursIn(const Raster& raster, int top, int bottom) {
  std::set<Rgb> colours;
  for (int y = top; y < bottom; ++y) {
    for (int x = 0; x < raster.width(); ++x) {
      const uint8_t* pixel = PixelAt(raster, x, y);
      if (pixel[3] != 0) colours.insert(ColourOf(pixel));
    }
  }
  return colours;
}

// The pixels of one colour below each other, the upper one in the lowest bit.
char Sixel(const Raster& raster, int x, int top, int bottom, Rgb colour) {
  int bits = 0;
  for (int y = top; y < bottom; ++y) {
    const uint8_t* pixel = PixelAt(raster, x, y);
    if (pixel[3] != 0 && ColourOf(pixel) == colour) bits |= 1 << (y - top);
  }
  return static_cast<char>('?' + bits);
}

// "?" 120 times is "!120?".
std::string Shortened(const std::string& sixels) {
  constexpr size_t kLeastRun = 4;
  std::string text;
  for (size_t at = 0; at < sixels.size();) {
    const size_t end = std::min(sixels.find_first_not_of(sixels[at], at), sixels.size());
    const size_t run = end - at;
    text += run < kLeastRun ? std::string(run, sixels[at])
                            : "!" + std::to_string(run) + std::string(1, sixels[at]);
    at = end;
  }
  return text;
}

std::string Band(const Raster& raster, int top, const std::set<Rgb>& palette) {
  const int bottom = std::min(top + kBandHeight, raster.height());
  std::string text;
  for (const Rgb colour : ColoursIn(raster, top, bottom)) {
    std::string sixels;
    for (int x = 0; x < raster.width(); ++x) sixels += Sixel(raster, x, top, bottom, colour);
    sixels.erase(sixels.find_last_not_of('?') + 1);
    const auto number = std::distance(palette.begin(), palette.find(colour));
    text += (text.empty() ? "#" : "$#") + std::to_string(number) + Shortened(sixels);
  }
  return text;
}

}  // namespace

std::string SixelPicture(const Raster& raster) {
  const std::set<Rgb> palette = ColoursIn(raster, 0, raster.height());
  std::string text(1, kOwnEscape);
  // Square pixels; those without a colour stay as they are.
  text += "P0;1;0q\"1;1;" + std::to_string(raster.width()) + ";" + std::to_string(raster.height());
  int number = 0;
  for (const Rgb colour : palette) {
    text += "#" + std::to_string(number++) + ";2;" + std::to_string(Percent(colour[0])) + ";" +
            std::to_string(Percent(colour[1])) + ";" + std::to_string(Percent(colour[2]));
  }
  for (int top = 0; top < raster.height(); top += kBandHeight)
    text += (top == 0 ? "" : "-") + Band(raster, top, palette);
  return text + kOwnEscape + "\\";
}

}  // namespace trainctl::client
