#include "worker/rank/tokenizer/utf8.h"

#include <cstdint>

#include "common/base/utf8.h"

namespace trainctl::data {
namespace {

struct Lead {
  size_t length = 0;  // 0: no character starts with this byte
  uint8_t second_min = 0x80, second_max = 0xBF;
  char32_t bits = 0;
};

Lead LeadOf(uint8_t byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return {2, 0x80, 0xBF, char32_t(byte & 0x1F)};
  if (byte == 0xE0) return {3, 0xA0, 0xBF, 0};
  if (byte == 0xED) return {3, 0x80, 0x9F, 0xD};
  if (byte >= 0xE1 && byte <= 0xEF) return {3, 0x80, 0xBF, char32_t(byte & 0x0F)};
  if (byte == 0xF0) return {4, 0x90, 0xBF, 0};
  if (byte >= 0xF1 && byte <= 0xF3) return {4, 0x80, 0xBF, char32_t(byte & 0x07)};
  if (byte == 0xF4) return {4, 0x80, 0x8F, 4};
  return {};
}

}  // namespace

Utf8Char FirstChar(std::string_view text) {
  const auto byte_at = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  if (byte_at(0) < 0x80) return {byte_at(0), 1, true};
  const Lead lead = LeadOf(byte_at(0));
  Utf8Char character{lead.bits, 1, false};
  while (character.length < lead.length && character.length < text.size()) {
    const uint8_t byte = byte_at(character.length);
    const bool second = character.length == 1;
    if (byte < (second ? lead.second_min : 0x80) || byte > (second ? lead.second_max : 0xBF)) break;
    character.code = character.code << 6 | (byte & 0x3F);
    ++character.length;
  }
  character.well_formed = character.length == lead.length;
  if (!character.well_formed) character.code = 0xFFFD;
  return character;
}

void AppendUtf8(char32_t code, std::string* text) {
  const auto push = [&](char32_t byte) { text->push_back(static_cast<char>(byte)); };
  if (code < 0x80) return push(code);
  if (code < 0x800) return push(0xC0 | code >> 6), push(0x80 | (code & 0x3F));
  if (code < 0x10000)
    return push(0xE0 | code >> 12), push(0x80 | (code >> 6 & 0x3F)), push(0x80 | (code & 0x3F));
  push(0xF0 | code >> 18), push(0x80 | (code >> 12 & 0x3F)), push(0x80 | (code >> 6 & 0x3F)),
      push(0x80 | (code & 0x3F));
}

std::string_view RepairUtf8(std::string_view text, std::string* storage) {
  if (!base::FindInvalidUtf8(text)) return text;
  storage->clear();
  while (!text.empty()) {
    const Utf8Char character = FirstChar(text);
    if (character.well_formed) {
      storage->append(text.substr(0, character.length));
    } else {
      AppendUtf8(0xFFFD, storage);
    }
    text.remove_prefix(character.length);
  }
  return *storage;
}

}  // namespace trainctl::data
