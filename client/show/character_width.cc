#include "client/show/character_width.h"

#include <clocale>
#include <cwchar>
#include <optional>

#include "common/base/utf8.h"

namespace trainctl::client {
namespace {

constexpr char32_t kJoiner = 0x200D, kFirstMark = 0x300;

int ColumnsOf(char32_t value) {
  if (value < kFirstMark) return 1;
  static const locale_t kUtf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", locale_t{});
  if (kUtf8 == locale_t{}) return 1;
  const locale_t before = uselocale(kUtf8);
  const int columns = wcwidth(static_cast<wchar_t>(value));
  uselocale(before);
  return columns < 0 ? 1 : columns;
}

}  // namespace

Character FirstCharacter(std::string_view text) {
  const std::optional<base::CodePoint> first = base::FirstCodePoint(text);
  if (!first) return {1, 1};
  Character character{first->bytes, ColumnsOf(first->value)};
  bool joins = first->value == kJoiner;
  while (const auto next = base::FirstCodePoint(text.substr(character.bytes))) {
    if (!joins && ColumnsOf(next->value) > 0) break;
    joins = next->value == kJoiner;
    character.bytes += next->bytes;
  }
  return character;
}

std::string FirstCodePoints(std::string_view text, size_t most) {
  size_t end = 0;
  while (most-- > 0 && end < text.size()) {
    const std::optional<base::CodePoint> next = base::FirstCodePoint(text.substr(end));
    end += next ? next->bytes : 1;
  }
  return std::string(text.substr(0, end));
}

}  // namespace trainctl::client
