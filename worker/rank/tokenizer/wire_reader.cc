#include "worker/rank/tokenizer/wire_reader.h"

namespace trainctl::data {
namespace {

enum WireType : uint64_t { kVarint = 0, k64Bit = 1, kDelimited = 2, k32Bit = 5 };

}  // namespace

std::optional<uint64_t> WireReader::Varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const uint8_t byte = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<uint64_t> WireReader::Fixed(size_t bytes) {
  if (rest_.size() < bytes) return std::nullopt;
  uint64_t value = 0;
  for (size_t i = bytes; i > 0; --i) value = value << 8 | static_cast<uint8_t>(rest_[i - 1]);
  rest_.remove_prefix(bytes);
  return value;
}

std::optional<std::string_view> WireReader::Delimited() {
  const auto length = Varint();
  if (!length || *length > rest_.size()) return std::nullopt;
  const std::string_view bytes = rest_.substr(0, *length);
  rest_.remove_prefix(*length);
  return bytes;
}

std::optional<WireField> WireReader::Next() {
  if (rest_.empty() || broken_) return std::nullopt;
  broken_ = true;  // until the field proves whole
  const auto tag = Varint();
  if (!tag || *tag >> 3 == 0 || *tag >> 32 != 0) return std::nullopt;
  WireField field{.number = static_cast<uint32_t>(*tag >> 3)};
  const uint64_t type = *tag & 7;
  if (type == kDelimited) {
    const auto bytes = Delimited();
    if (!bytes) return std::nullopt;
    field.bytes = *bytes;
  } else if (type == kVarint || type == k32Bit || type == k64Bit) {
    const auto value = type == kVarint ? Varint() : Fixed(type == k32Bit ? 4 : 8);
    if (!value) return std::nullopt;
    field.value = *value;
  } else {
    return std::nullopt;
  }
  broken_ = false;
  return field;
}

}  // namespace trainctl::data
