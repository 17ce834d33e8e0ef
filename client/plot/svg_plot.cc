#include "client/plot/svg_plot.h"

#include <cstdio>

#include "client/show/format.h"
#include "client/show/markup.h"

namespace trainctl::client {
namespace {

constexpr double kWidth = 900, kLeft = 90, kRight = 20, kTop = 40;
constexpr double kDrawnWidth = kWidth - kLeft - kRight, kDrawnHeight = 320;
constexpr double kBottom = kTop + kDrawnHeight, kLegendTop = kBottom + 52, kLineHeight = 20;
constexpr int kLongestLabel = 90;
constexpr int kTicksAcross = 8, kTicksDown = 6;

// Okabe and Ito's palette, which people with colour blindness tell apart; then dashed.
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                    "#e69f00", "#56b4e9", "#999999"};

constexpr const char* kStyle =
    "<style>.p{font:13px system-ui,sans-serif;fill:#222}.g{stroke:#8884;stroke-width:1}"
    ".c{fill:none;stroke-width:1.6;stroke-linejoin:round}.b{fill:#fff}"
    "@media(prefers-color-scheme:dark){.p{fill:#ddd}.b{fill:#16181c}}</style>";

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

std::string StrokeOf(size_t curve) {
  const size_t colours = std::size(kColours);
  std::string stroke = std::string("stroke=\"") + kColours[curve % colours] + "\"";
  if (curve >= colours) stroke += " stroke-dasharray=\"6 3\"";
  return stroke;
}

double PlaceX(const Axis& x, double value) { return kLeft + x.Place(value) * kDrawnWidth; }
double PlaceY(const Axis& y, double value) { return kBottom - y.Place(value) * kDrawnHeight; }

std::string Grid(const Plot& plot, const Axis& x, const Axis& y) {
  std::string text;
  const std::vector<std::string> labels = TicksOfY(plot, y);
  for (size_t i = 0; i < y.ticks.size(); ++i) {
    const double at = PlaceY(y, y.ticks[i]);
    text += Line(kLeft, at, kLeft + kDrawnWidth, at, "class=\"g\"");
    text += Text(kLeft - 8, at + 4, "end", labels[i]);
  }
  for (const double tick : x.ticks) {
    const double at = PlaceX(x, tick);
    text += Line(at, kTop, at, kBottom, "class=\"g\"");
    text += Text(at, kBottom + 18, "middle", TickOfX(plot, tick));
  }
  return text + Text(kLeft + kDrawnWidth / 2, kBottom + 38, "middle",
                     plot.over_time ? "time since the start" : "step");
}

std::string Curves(const Plot& plot, const Axis& x, const Axis& y) {
  std::string text;
  for (size_t i = 0; i < plot.curves.size(); ++i) {
    const Curve& curve = plot.curves[i];
    text += "<polyline class=\"c\" " + StrokeOf(i) + " points=\"";
    for (const Sample& sample : Downsample(curve.samples, x, static_cast<size_t>(kDrawnWidth))) {
      if (plot.log && sample.y <= 0) continue;
      text += Number(PlaceX(x, sample.x)) + "," + Number(PlaceY(y, sample.y)) + " ";
    }
    text += "\"><title>" + MarkupEscaped(curve.label) + "</title></polyline>\n";
  }
  return text;
}

std::string Legend(const Plot& plot) {
  std::string text;
  for (size_t i = 0; i < plot.curves.size(); ++i) {
    const Curve& curve = plot.curves[i];
    const double at = kLegendTop + kLineHeight * static_cast<double>(i);
    const std::string end = EndText(plot, curve), last = (end.empty() ? "" : ": ") + end;
    text += Line(kLeft, at, kLeft + 28, at, "class=\"c\" " + StrokeOf(i));
    text += Text(kLeft + 36, at + 4, "start", Truncate(curve.label, kLongestLabel) + last);
  }
  return text;
}

}  // namespace

std::string SvgPlot(const Plot& plot) {
  const Axis x = AxisOfX(plot, kTicksAcross), y = AxisOfY(plot, kTicksDown);
  const double height = kLegendTop + kLineHeight * static_cast<double>(plot.curves.size());
  const std::string size = Number(kWidth) + " " + Number(height);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + size + "\" width=\"" +
         Number(kWidth) + "\" height=\"" + Number(height) + "\" role=\"img\" aria-label=\"" +
         MarkupEscaped(plot.title) + "\">\n" + kStyle +
         "<rect class=\"b\" width=\"100%\" height=\"100%\"/>\n" +
         Text(kLeft, 24, "start", plot.title) + Grid(plot, x, y) + Curves(plot, x, y) +
         Legend(plot) + "</svg>\n";
}

}  // namespace trainctl::client
