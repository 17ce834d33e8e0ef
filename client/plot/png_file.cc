#include "client/plot/png_file.h"

#include <zlib.h>

#include <cmath>
#include <string_view>
#include <vector>

#include "client/plot/compressed.h"

namespace trainctl::client::drawn {
namespace {

constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
constexpr double kMetresPerInch = 0.0254;

std::string BigEndian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

std::string Chunk(const char* type, const std::string& data) {
  const std::string checked = type + data;
  const uLong sum =
      ::crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size()));
  return BigEndian(static_cast<uint32_t>(data.size())) + checked +
         BigEndian(static_cast<uint32_t>(sum));
}

// 8 bits, RGB, one pass.
std::string Header(const Pixels& pixels) {
  return BigEndian(pixels.width) + BigEndian(pixels.height) + std::string("\x08\x02\0\0\0", 5);
}

// In both directions, by the metre.
std::string Density(const Pixels& pixels) {
  const std::string dots =
      BigEndian(static_cast<uint32_t>(std::lround(pixels.dots_per_inch / kMetresPerInch)));
  return dots + dots + "\x01";
}

// Each row says first that it is not filtered: what is mostly ground is small all the same.
std::vector<uint8_t> Rows(const Pixels& pixels) {
  const size_t row_bytes = 3 * static_cast<size_t>(pixels.width);
  std::vector<uint8_t> rows;
  rows.reserve((row_bytes + 1) * pixels.height);
  for (uint32_t row = 0; row < pixels.height; ++row) {
    rows.push_back(0);
    const std::span<const uint8_t> of_row = pixels.rgb.subspan(row * row_bytes, row_bytes);
    rows.insert(rows.end(), of_row.begin(), of_row.end());
  }
  return rows;
}

}  // namespace

std::string PngFile(const Pixels& pixels) {
  return std::string(kSignature) + Chunk("IHDR", Header(pixels)) + Chunk("pHYs", Density(pixels)) +
         Chunk("IDAT", Compressed(Rows(pixels), /*level=*/9)) + Chunk("IEND", "");
}

}  // namespace trainctl::client::drawn
