#include "client/plot/svg.h"

#include <cstdio>

#include "client/show/markup.h"

namespace trainctl::client::svg {
namespace {

// Okabe and Ito's palette.
constexpr const char* kPalette[kColours] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                            "#e69f00", "#56b4e9", "#999999"};

}  // namespace

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string Text(double x, double y, const char* anchor, const std::string& words) {
  return "<text class=\"p\" x=\"" + Number(x) + "\" y=\"" + Number(y) + "\" text-anchor=\"" +
         anchor + "\">" + MarkupEscaped(words) + "</text>\n";
}

std::string Line(double x, double y, double to_x, double to_y, const std::string& attributes) {
  return "<line " + attributes + " x1=\"" + Number(x) + "\" y1=\"" + Number(y) + "\" x2=\"" +
         Number(to_x) + "\" y2=\"" + Number(to_y) + "\"/>\n";
}

const char* Colour(size_t n) { return kPalette[n % kColours]; }

std::string Whole(double width, double height, const std::string& title, const std::string& body) {
  const std::string size = Number(width) + " " + Number(height);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + size + "\" width=\"" +
         Number(width) + "\" height=\"" + Number(height) + "\" role=\"img\" aria-label=\"" +
         MarkupEscaped(title) + "\">\n" + kStyle +
         "<rect class=\"b\" width=\"100%\" height=\"100%\"/>\n" + body + "</svg>\n";
}

}  // namespace trainctl::client::svg
