#include "client/files/tensorboard_events.h"

#include <array>
#include <bit>

namespace trainctl::client {
namespace {

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

constexpr std::array<uint32_t, 256> Table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82F63B78u : 0);
    table[i] = value;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kTable = Table();

// TFRecord masks its sums, since data may hold sums themselves.
uint32_t MaskedCrc(std::string_view bytes) { return std::rotr(Crc32c(bytes), 15) + 0xA282EAD8u; }

std::string LittleEndian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>((value >> (8 * i)) & 0xFF);
  return text;
}

std::string Varint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>((value & 0x7F) | 0x80);
  return text + static_cast<char>(value);
}

std::string Key(uint32_t field, WireType type) { return Varint((field << 3) | type); }

std::string BytesField(uint32_t field, std::string_view bytes) {
  return Key(field, kBytes) + Varint(bytes.size()) + std::string(bytes);
}

std::string Record(std::string_view data) {
  const std::string length = LittleEndian(data.size(), 8);
  return length + LittleEndian(MaskedCrc(length), 4) + std::string(data) +
         LittleEndian(MaskedCrc(data), 4);
}

// wall_time, in seconds.
std::string TimeField(int64_t micros) {
  const double seconds = static_cast<double>(micros) / 1e6;
  return Key(1, kFixed64) + LittleEndian(std::bit_cast<uint64_t>(seconds), 8);
}

}  // namespace

uint32_t Crc32c(std::string_view bytes) {
  uint32_t sum = ~0u;
  for (const char byte : bytes)
    sum = kTable[(sum ^ static_cast<unsigned char>(byte)) & 0xFF] ^ (sum >> 8);
  return ~sum;
}

std::string EventFileHead(int64_t time) {
  return Record(TimeField(time) + BytesField(3, "brain.Event:2"));
}

std::string ScalarEvent(const std::string& tag, int64_t step, double value, int64_t time) {
  const auto number = std::bit_cast<uint32_t>(static_cast<float>(value));
  const std::string point = BytesField(1, tag) + Key(2, kFixed32) + LittleEndian(number, 4);
  return Record(TimeField(time) + Key(2, kVarint) + Varint(static_cast<uint64_t>(step)) +
                BytesField(5, BytesField(1, point)));
}

}  // namespace trainctl::client
