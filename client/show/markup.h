// Texts of others within HTML and SVG. Pure.
#pragma once

#include <string>
#include <string_view>

namespace trainctl::client {

// What a browser shows as this text, within an element or a quoted attribute. Control characters
// are spelled out (escaping.h).
std::string MarkupEscaped(std::string_view text);

}  // namespace trainctl::client
