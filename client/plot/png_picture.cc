#include "client/plot/png_picture.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "client/plot/paint.h"
#include "client/plot/png_file.h"

namespace trainctl::client::drawn {
namespace {

constexpr int kDotsPerInch = 96 * Paint::kScale;  // CSS has 96 pixels an inch
constexpr double kMostPixels = 64e6;              // 192 MB while it is painted
constexpr const char* kTextColour = "#222";
constexpr int kCorners = 64;  // of a circle

std::vector<Place> CircleOf(Place middle, double radius) {
  std::vector<Place> places;
  for (int i = 0; i <= kCorners; ++i) {
    const double angle = 2 * std::numbers::pi * i / kCorners;
    places.push_back({middle.x + radius * std::cos(angle), middle.y + radius * std::sin(angle)});
  }
  return places;
}

struct PaintedShape {
  Paint& paint;

  void operator()(const Segment& shape) const {
    paint.Stroke(std::vector{shape.from, shape.to}, shape.pen);
  }
  void operator()(const PolyLine& shape) const { paint.Stroke(shape.places, shape.pen); }
  void operator()(const Box& shape) const {
    const Place to = {shape.at.x + shape.width, shape.at.y + shape.height};
    paint.Fill(std::vector<Place>{shape.at, {to.x, shape.at.y}, to, {shape.at.x, to.y}},
               shape.colour);
  }
  void operator()(const Disc& shape) const {
    paint.Fill(CircleOf(shape.middle, shape.radius), shape.colour);
  }
  void operator()(const Ring& shape) const {
    paint.Stroke(CircleOf(shape.middle, shape.radius), shape.pen);
  }
  void operator()(const Triangle& shape) const {
    const double bottom = shape.top.y + Triangle::kDown;
    paint.Stroke(std::vector<Place>{{shape.top},
                                    {shape.top.x + Triangle::kAside, bottom},
                                    {shape.top.x - Triangle::kAside, bottom},
                                    {shape.top}},
                 shape.pen);
  }
  void operator()(const Words& shape) const { paint.Write(shape, kTextColour); }
};

}  // namespace

base::Result<std::string> PngOf(const Drawing& drawing) {
  if (drawing.width * drawing.height * Paint::kScale * Paint::kScale > kMostPixels) {
    return base::Error{base::Code::kInvalid,
                       "a picture of " + std::to_string(std::lround(drawing.width)) + " × " +
                           std::to_string(std::lround(drawing.height)) +
                           " is too large for a PNG: write .svg, or draw fewer jobs"};
  }
  Paint paint(drawing.width, drawing.height);
  for (const Shape& shape : drawing.shapes) std::visit(PaintedShape{paint}, shape);
  return PngFile({.width = static_cast<uint32_t>(paint.width()),
                  .height = static_cast<uint32_t>(paint.height()),
                  .dots_per_inch = kDotsPerInch,
                  .rgb = paint.pixels()});
}

}  // namespace trainctl::client::drawn
