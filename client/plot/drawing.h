// A picture as a list of shapes: svg.h writes them as they are, png_picture.h paints them. Pure
// values. In pixels of a page, from its upper left. Texts are not escaped.
#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

namespace trainctl::client::drawn {

struct Place {
  double x = 0, y = 0;
};

// Colours are written as in CSS: "#0072b2", "#888", and "#8884" where what is below shines through.
struct Pen {
  enum class Kind { kGrid, kCurve, kMark } kind = Kind::kGrid;
  const char* colour = "#8884";
  double width = 1;
  bool dashed = false;
};

// The n-th curve's or bar's, which people with colour blindness tell apart; again after `kColours`.
inline constexpr size_t kColours = 7;
const char* ColourOf(size_t n);
// Of the n-th curve: dashed where the colours begin again.
Pen CurvePen(size_t n);

struct Segment {
  Pen pen;
  Place from, to;
};
struct PolyLine {
  Pen pen;
  std::string name;
  std::vector<Place> places;
};
struct Box {
  Place at;  // its upper left
  double width = 0;
  int height = 0;
  const char* colour = "";
};
struct Disc {
  Place middle;
  double radius = 0;
  const char* colour = "";
};
struct Ring {
  Place middle;
  double radius = 0;
  Pen pen;
};
// Upright: this far down from its top, and to both sides.
struct Triangle {
  static constexpr int kDown = 14, kAside = 8;
  Place top;
  Pen pen;
};
struct Words {
  enum class Anchor { kStart, kMiddle, kEnd };
  Place at;  // on the line that they stand on
  Anchor anchor = Anchor::kStart;
  std::string text;
};

using Shape = std::variant<Segment, PolyLine, Box, Disc, Ring, Triangle, Words>;

// Later shapes lie over earlier ones.
struct Drawing {
  std::string title;
  double width = 0, height = 0;
  std::vector<Shape> shapes = {};
};

}  // namespace trainctl::client::drawn
