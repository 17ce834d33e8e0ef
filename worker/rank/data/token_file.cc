#include "worker/rank/data/token_file.h"

#include <array>
#include <cstring>
#include <optional>
#include <utility>

namespace trainctl::data {
namespace {

constexpr int64_t kHeaderBytes = 256 * sizeof(int32_t);

struct TokenFileHeader {
  int32_t magic = 0, version = 0, count = 0;
};

struct Kind {
  int32_t magic, version;
  int width_bytes;
};
constexpr std::array kKinds = {Kind{20240520, 1, 2}, Kind{20240801, 7, 4}};

// Of llm.c's kind that the magic names; nullptr: a raw file.
const Kind* KindOf(std::span<const std::byte> bytes, TokenFileHeader* header) {
  if (static_cast<int64_t>(bytes.size()) < kHeaderBytes) return nullptr;
  std::memcpy(header, bytes.data(), sizeof *header);
  for (const Kind& kind : kKinds) {
    if (kind.magic == header->magic) return &kind;
  }
  return nullptr;
}

}  // namespace

base::Result<TokenStore> ReadTokenFile(files::MappedFile file) {
  const auto fault = [&](const std::string& message) {
    return base::Error{base::Code::kInvalid, file.path() + ": " + message};
  };
  const int64_t size = static_cast<int64_t>(file.bytes().size());
  TokenFileHeader header;
  const Kind* kind = KindOf(file.bytes(), &header);
  if (kind == nullptr) {
    if (size % 2 != 0)
      return fault(std::to_string(size) + " bytes, expected an even number: tokens of 16 bits");
    return TokenStore(std::move(file), 0, 2);
  }
  if (header.version != kind->version) {
    return fault("version " + std::to_string(header.version) + " of llm.c's format, expected " +
                 std::to_string(kind->version));
  }
  if (header.count < 0 || size != kHeaderBytes + int64_t{header.count} * kind->width_bytes) {
    return fault("its header counts " + std::to_string(header.count) + " tokens, which " +
                 std::to_string(size) + " bytes do not fit");
  }
  return TokenStore(std::move(file), kHeaderBytes, kind->width_bytes);
}

}  // namespace trainctl::data
