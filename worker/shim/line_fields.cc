#include "worker/shim/line_fields.h"

#include <cstdio>
#include <cstdlib>

namespace trainctl::shim {
namespace {

std::string_view WithoutSpaces(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t");
  return start == std::string_view::npos ? std::string_view() : text.substr(start);
}

// What stands behind "key":, from its first character on; empty where the key is missing.
std::string_view Behind(std::string_view line, std::string_view key) {
  const std::string quoted = Quoted(key);
  for (size_t at = line.find(quoted); at != std::string_view::npos;
       at = line.find(quoted, at + 1)) {
    const std::string_view rest = WithoutSpaces(line.substr(at + quoted.size()));
    if (rest.starts_with(':')) return WithoutSpaces(rest.substr(1));
  }
  return {};
}

}  // namespace

bool HasType(std::string_view line, std::string_view type) {
  return Behind(line, "type").starts_with(Quoted(type));
}

std::optional<double> NumberField(std::string_view line, std::string_view key) {
  const std::string text(Behind(line, key).substr(0, 64));
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end == text.c_str() ? std::nullopt : std::optional(value);
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      quoted += escape;
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace trainctl::shim
