#include "common/track/proto_wire.h"

#include <array>
#include <bit>

namespace trainctl::track {
namespace {

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

using SumTable = std::array<uint32_t, 256>;

// The polynomial has its lowest power in the highest bit.
constexpr SumTable TableOf(uint32_t polynomial) {
  SumTable table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? polynomial : 0);
    table[i] = value;
  }
  return table;
}

constexpr SumTable kCastagnoli = TableOf(0x82F63B78u), kZlib = TableOf(0xEDB88320u);

uint32_t SumOf(const SumTable& table, std::string_view bytes) {
  uint32_t sum = ~0u;
  for (const char byte : bytes)
    sum = table[(sum ^ static_cast<unsigned char>(byte)) & 0xFF] ^ (sum >> 8);
  return ~sum;
}

std::string Varint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>((value & 0x7F) | 0x80);
  return text + static_cast<char>(value);
}

std::string Key(uint32_t field, WireType type) { return Varint((field << 3) | type); }

}  // namespace

uint32_t Crc32c(std::string_view bytes) { return SumOf(kCastagnoli, bytes); }

uint32_t Crc32(std::string_view bytes) { return SumOf(kZlib, bytes); }

std::string LittleEndian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>((value >> (8 * i)) & 0xFF);
  return text;
}

std::string VarintField(uint32_t field, uint64_t value) {
  return Key(field, kVarint) + Varint(value);
}

std::string DoubleField(uint32_t field, double value) {
  return Key(field, kFixed64) + LittleEndian(std::bit_cast<uint64_t>(value), 8);
}

std::string FloatField(uint32_t field, float value) {
  return Key(field, kFixed32) + LittleEndian(std::bit_cast<uint32_t>(value), 4);
}

std::string BytesField(uint32_t field, std::string_view bytes) {
  return Key(field, kBytes) + Varint(bytes.size()) + std::string(bytes);
}

}  // namespace trainctl::track
