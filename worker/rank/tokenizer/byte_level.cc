#include "worker/rank/tokenizer/byte_level.h"

#include <array>

#include "worker/rank/tokenizer/utf8.h"

namespace trainctl::data {
namespace {

constexpr bool IsPrintable(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) ||
         (byte >= 0xAE && byte <= 0xFF);
}

constexpr int kAlphabetEnd = 0x144;

// Code point → byte; −1: none.
constexpr std::array<int16_t, kAlphabetEnd> kByteOfChar = [] {
  std::array<int16_t, kAlphabetEnd> byte_of{};
  byte_of.fill(-1);
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte)
    byte_of[IsPrintable(byte) ? byte : next++] = static_cast<int16_t>(byte);
  return byte_of;
}();

}  // namespace

const std::string_view kGpt2SplitPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

const std::string_view kQwen2SplitPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

std::optional<std::string> BytesOfByteLevel(std::string_view entry) {
  std::string bytes;
  while (!entry.empty()) {
    const Utf8Char character = FirstChar(entry);
    if (!character.well_formed || character.code >= kAlphabetEnd || kByteOfChar[character.code] < 0)
      return std::nullopt;
    bytes.push_back(static_cast<char>(kByteOfChar[character.code]));
    entry.remove_prefix(character.length);
  }
  return bytes;
}

}  // namespace trainctl::data
