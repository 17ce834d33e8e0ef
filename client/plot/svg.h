// Pieces of SVG that all pictures here have in common. Pure. Texts are escaped.
#pragma once

#include <string>

namespace trainctl::client::svg {

// The colours of a text, of a grid and of the ground, bright or dark as the reader has it.
inline constexpr const char* kStyle =
    "<style>.p{font:13px system-ui,sans-serif;fill:#222}.g{stroke:#8884;stroke-width:1}"
    ".c{fill:none;stroke-width:1.6;stroke-linejoin:round}.b{fill:#fff}"
    "@media(prefers-color-scheme:dark){.p{fill:#ddd}.b{fill:#16181c}}</style>";

std::string Number(double value);
std::string Text(double x, double y, const char* anchor, const std::string& words);
std::string Line(double x, double y, double to_x, double to_y, const std::string& attributes);
// Of the n-th curve or bar, which people with colour blindness tell apart; again after `kColours`.
inline constexpr size_t kColours = 7;
const char* Colour(size_t n);
// The whole element: its ground, then what it holds.
std::string Whole(double width, double height, const std::string& title, const std::string& body);

}  // namespace trainctl::client::svg
