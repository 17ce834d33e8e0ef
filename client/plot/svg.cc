#include "client/plot/svg.h"

#include <cstdio>

#include "client/show/markup.h"

namespace trainctl::client::drawn {
namespace {

// The colours of a text, of a grid and of the ground, bright or dark as the reader has it.
constexpr const char* kStyle =
    "<style>.p{font:13px system-ui,sans-serif;fill:#222}.g{stroke:#8884;stroke-width:1}"
    ".c{fill:none;stroke-width:1.6;stroke-linejoin:round}.b{fill:#fff}"
    "@media(prefers-color-scheme:dark){.p{fill:#ddd}.b{fill:#16181c}}</style>";

std::string Formatted(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string Number(double value) { return Formatted("%.1f", value); }

std::string Attribute(const char* name, const std::string& value) {
  return std::string(" ") + name + "=\"" + value + "\"";
}

std::string At(const char* x_name, const char* y_name, Place place) {
  return Attribute(x_name, Number(place.x)) + Attribute(y_name, Number(place.y));
}

std::string Stroke(const Pen& pen) {
  if (pen.kind == Pen::Kind::kGrid) return Attribute("class", "g");
  std::string stroke = pen.kind == Pen::Kind::kCurve ? Attribute("class", "c") : "";
  stroke += Attribute("stroke", pen.colour);
  if (pen.kind == Pen::Kind::kMark) stroke += Attribute("stroke-width", Formatted("%g", pen.width));
  return stroke + (pen.dashed ? Attribute("stroke-dasharray", "6 3") : "");
}

std::string Hollow(const Pen& pen) { return Attribute("fill", "none") + Stroke(pen); }

const char* NameOf(Words::Anchor anchor) {
  if (anchor == Words::Anchor::kStart) return "start";
  return anchor == Words::Anchor::kMiddle ? "middle" : "end";
}

struct SvgShape {
  std::string operator()(const Segment& shape) const {
    return "<line" + Stroke(shape.pen) + At("x1", "y1", shape.from) + At("x2", "y2", shape.to) +
           "/>\n";
  }
  std::string operator()(const PolyLine& shape) const {
    std::string text = "<polyline" + Stroke(shape.pen) + " points=\"";
    for (const Place& place : shape.places) text += Number(place.x) + "," + Number(place.y) + " ";
    return text + "\"><title>" + MarkupEscaped(shape.name) + "</title></polyline>\n";
  }
  std::string operator()(const Box& shape) const {
    return "<rect" + At("x", "y", shape.at) + Attribute("width", Number(shape.width)) +
           Attribute("height", std::to_string(shape.height)) + Attribute("fill", shape.colour) +
           "/>\n";
  }
  std::string operator()(const Disc& shape) const {
    return Circle(shape.middle, shape.radius, Attribute("fill", shape.colour));
  }
  std::string operator()(const Ring& shape) const {
    return Circle(shape.middle, shape.radius, Hollow(shape.pen));
  }
  std::string operator()(const Triangle& shape) const {
    const std::string down = std::to_string(Triangle::kDown);
    return "<path d=\"M" + Number(shape.top.x) + " " + Number(shape.top.y) + "l" +
           std::to_string(Triangle::kAside) + " " + down + "h-" +
           std::to_string(2 * Triangle::kAside) + "z\"" + Hollow(shape.pen) + "/>\n";
  }
  std::string operator()(const Words& shape) const {
    return "<text class=\"p\"" + At("x", "y", shape.at) +
           Attribute("text-anchor", NameOf(shape.anchor)) + ">" + MarkupEscaped(shape.text) +
           "</text>\n";
  }

  static std::string Circle(Place middle, double radius, const std::string& attributes) {
    return "<circle" + At("cx", "cy", middle) + Attribute("r", Number(radius)) + attributes +
           "/>\n";
  }
};

}  // namespace

// Its ground, then what it holds.
std::string SvgOf(const Drawing& drawing) {
  const std::string width = Number(drawing.width), height = Number(drawing.height);
  std::string text = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + width + " " +
                     height + "\"" + Attribute("width", width) + Attribute("height", height) +
                     " role=\"img\" aria-label=\"" + MarkupEscaped(drawing.title) + "\">\n" +
                     kStyle + "<rect class=\"b\" width=\"100%\" height=\"100%\"/>\n";
  for (const Shape& shape : drawing.shapes) text += std::visit(SvgShape(), shape);
  return text + "</svg>\n";
}

}  // namespace trainctl::client::drawn
