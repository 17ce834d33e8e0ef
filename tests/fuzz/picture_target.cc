// Pictures, decoded and brought to a model's side.
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "common/base/check.h"
#include "tests/fuzz/targets.h"
#include "worker/rank/images/decode.h"
#include "worker/rank/images/pixels.h"

namespace trainctl::fuzz {
namespace {

constexpr std::string_view kPng = "\x89PNG\r\n\x1A\n";

uint32_t Crc32(std::string_view bytes) {
  uint32_t sum = ~0U;
  for (const char byte : bytes) {
    sum ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ ((sum & 1) != 0 ? 0xEDB88320 : 0);
  }
  return ~sum;
}

uint32_t BigEndian(std::string_view word) {
  uint32_t value = 0;
  for (const char byte : word) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

// A PNG's chunks (length, type, data, sum) with the sums that they should have: libpng looks at no
// other.
std::string WithSums(std::string_view bytes) {
  std::string file(bytes);
  if (!bytes.starts_with(kPng)) return file;
  constexpr size_t kHead = 8, kSum = 4;
  for (size_t at = kPng.size(); at + kHead + kSum <= file.size();) {
    const size_t size = BigEndian(bytes.substr(at, 4));
    if (size > file.size() - at - kHead - kSum) break;
    const uint32_t sum = Crc32(bytes.substr(at + 4, 4 + size));
    at += kHead + size;
    for (int shift = 24; shift >= 0; shift -= 8) file[at++] = static_cast<char>(sum >> shift);
  }
  return file;
}

}  // namespace

bool ReadPicture(std::string_view bytes) {
  const std::string file = WithSums(bytes);
  const auto picture = images::Decode(std::as_bytes(std::span(file)));
  if (!picture) return false;
  CHECK(std::ssize(picture->rgb) == picture->width * picture->height * 3);
  constexpr int64_t kSide = 28;
  CHECK(std::ssize(images::PixelsOf(*picture, kSide)) == images::PixelBytes(kSide));
  return true;
}

}  // namespace trainctl::fuzz
