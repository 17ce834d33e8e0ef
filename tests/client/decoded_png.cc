#include "tests/client/decoded_png.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <map>

namespace trainctl::client {
namespace {

uint32_t BigEndianAt(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes.at(at + i));
  return value;
}

std::map<std::string, std::string> ChunksOf(const std::string& file) {
  std::map<std::string, std::string> chunks;
  size_t at = 8;
  while (at < file.size()) {
    const uint32_t size = BigEndianAt(file, at);
    const std::string checked = file.substr(at + 4, size + 4);
    const uLong sum = ::crc32(0, reinterpret_cast<const Bytef*>(checked.data()),
                              static_cast<uInt>(checked.size()));
    EXPECT_EQ(BigEndianAt(file, at + 8 + size), sum);
    chunks[checked.substr(0, 4)] = checked.substr(4);
    at += 12 + size;
  }
  return chunks;
}

}  // namespace

std::array<int, 3> DecodedPng::At(size_t x, size_t y) const {
  const size_t at = 3 * (y * width + x);
  return {rgb.at(at), rgb.at(at + 1), rgb.at(at + 2)};
}

DecodedPng DecodePng(const std::string& file) {
  EXPECT_EQ(file.substr(0, 8), "\x89PNG\r\n\x1a\n");
  std::map<std::string, std::string> chunks = ChunksOf(file);
  const std::string& header = chunks["IHDR"];
  DecodedPng png{
      BigEndianAt(header, 0), BigEndianAt(header, 4), BigEndianAt(chunks["pHYs"], 0), {}};
  EXPECT_EQ(header.substr(8), std::string("\x08\x02\0\0\0", 5)) << "8 bits, RGB, one pass";
  const size_t row_bytes = 3 * static_cast<size_t>(png.width);
  std::vector<uint8_t> rows((row_bytes + 1) * png.height);
  uLongf size = rows.size();
  const std::string& data = chunks["IDAT"];
  EXPECT_EQ(
      ::uncompress(rows.data(), &size, reinterpret_cast<const Bytef*>(data.data()), data.size()),
      Z_OK);
  EXPECT_EQ(size, rows.size());
  for (size_t row = 0; row < png.height; ++row) {
    const auto begin = rows.begin() + static_cast<int64_t>(row * (row_bytes + 1));
    EXPECT_EQ(*begin, 0) << "not filtered";
    png.rgb.insert(png.rgb.end(), begin + 1, begin + 1 + static_cast<int64_t>(row_bytes));
  }
  return png;
}

}  // namespace trainctl::client
