#include "client/show/markup.h"

#include "client/show/escaping.h"

namespace trainctl::client {

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
  std::string escaped;
  for (const char c : Escaped(text)) {
    if (std::string_view("\\`*_[]<>|#").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace trainctl::client
