#include "common/base/one_line.h"

namespace trainctl::base {

std::string OnOneLine(std::string_view text) {
  std::string line;
  for (const char c : text) {
    switch (c) {
      case '\\': line += "\\\\"; break;
      case '\n': line += "\\n"; break;
      case '\r': line += "\\r"; break;
      case '\t': line += "\\t"; break;
      default: line += c;
    }
  }
  return line;
}

}  // namespace trainctl::base
