// The Protobuf wire format, as far as a SentencePiece model needs it, without Protobuf (whose
// symbols must not meet libtorch's): fields of a message, one after another.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace trainctl::data {

struct WireField {
  uint32_t number = 0;
  uint64_t value = 0;      // of varint, 32-bit and 64-bit fields
  std::string_view bytes;  // of length-delimited fields (strings, messages)
};

class WireReader {
 public:
  explicit WireReader(std::string_view message) : rest_(message) {}

  // nullopt at the end, and at the first byte that is not the wire format (then broken() is true).
  std::optional<WireField> Next();
  bool broken() const { return broken_; }

 private:
  std::optional<uint64_t> Varint();
  std::optional<uint64_t> Fixed(size_t bytes);
  std::optional<std::string_view> Delimited();

  std::string_view rest_;
  bool broken_ = false;
};

}  // namespace trainctl::data
