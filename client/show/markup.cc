#include "client/show/markup.h"

#include <cctype>

#include "client/show/escaping.h"

namespace trainctl::client {
namespace {

// CommonMark 0.31, 6.2: "_" within a word marks nothing, nor does "*" between spaces, but at the
// beginning of a line.
bool IsMark(std::string_view text, size_t at) {
  const char c = text[at];
  if (std::string_view("\\`*_[]<>|#").find(c) == std::string_view::npos) return false;
  const auto is_of_word = [text](size_t i) {
    return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 ||
                               static_cast<unsigned char>(text[i]) >= 0x80);
  };
  if (c == '_') return at == 0 || !is_of_word(at - 1) || !is_of_word(at + 1);
  if (c == '*')
    return at == 0 || text[at - 1] != ' ' || (at + 1 < text.size() && text[at + 1] != ' ');
  return true;
}

}  // namespace

std::string MarkupEscaped(std::string_view text) {
  std::string escaped;
  for (const char c : Escaped(text)) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

std::string MarkdownEscaped(std::string_view text) {
  const std::string shown = Escaped(text);
  std::string escaped;
  for (size_t i = 0; i < shown.size(); ++i) {
    if (IsMark(shown, i)) escaped += '\\';
    escaped += shown[i];
  }
  return escaped;
}

}  // namespace trainctl::client
