#include "client/plot/svg_plot.h"

#include "client/plot/svg.h"
#include "client/show/format.h"
#include "client/show/markup.h"

namespace trainctl::client {
namespace {

constexpr double kWidth = 900, kLeft = 90, kRight = 20, kTop = 40;
constexpr double kDrawnWidth = kWidth - kLeft - kRight, kDrawnHeight = 320;
constexpr double kBottom = kTop + kDrawnHeight, kLegendTop = kBottom + 52, kLineHeight = 20;
constexpr int kLongestLabel = 90;
constexpr int kTicksAcross = 8, kTicksDown = 6;

// Dashed where the colours begin again.
std::string StrokeOf(size_t curve) {
  std::string stroke = std::string("stroke=\"") + svg::Colour(curve) + "\"";
  if (curve >= svg::kColours) stroke += " stroke-dasharray=\"6 3\"";
  return stroke;
}

double PlaceX(const Axis& x, double value) { return kLeft + x.Place(value) * kDrawnWidth; }
double PlaceY(const Axis& y, double value) { return kBottom - y.Place(value) * kDrawnHeight; }

std::string Grid(const Plot& plot, const Axis& x, const Axis& y) {
  std::string text;
  const std::vector<std::string> labels = TicksOfY(plot, y);
  for (size_t i = 0; i < y.ticks.size(); ++i) {
    const double at = PlaceY(y, y.ticks[i]);
    text += svg::Line(kLeft, at, kLeft + kDrawnWidth, at, "class=\"g\"");
    text += svg::Text(kLeft - 8, at + 4, "end", labels[i]);
  }
  for (const double tick : x.ticks) {
    const double at = PlaceX(x, tick);
    text += svg::Line(at, kTop, at, kBottom, "class=\"g\"");
    text += svg::Text(at, kBottom + 18, "middle", TickOfX(plot, tick));
  }
  return text + svg::Text(kLeft + kDrawnWidth / 2, kBottom + 38, "middle",
                          plot.over_time ? "time since the start" : "step");
}

std::string Curves(const Plot& plot, const Axis& x, const Axis& y) {
  std::string text;
  for (size_t i = 0; i < plot.curves.size(); ++i) {
    const Curve& curve = plot.curves[i];
    text += "<polyline class=\"c\" " + StrokeOf(i) + " points=\"";
    for (const Sample& sample : Downsample(curve.samples, x, static_cast<size_t>(kDrawnWidth))) {
      if (plot.log && sample.y <= 0) continue;
      text += svg::Number(PlaceX(x, sample.x)) + "," + svg::Number(PlaceY(y, sample.y)) + " ";
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
    text += svg::Line(kLeft, at, kLeft + 28, at, "class=\"c\" " + StrokeOf(i));
    text += svg::Text(kLeft + 36, at + 4, "start", Truncate(curve.label, kLongestLabel) + last);
  }
  return text;
}

}  // namespace

std::string SvgPlot(const Plot& plot) {
  const Axis x = AxisOfX(plot, kTicksAcross), y = AxisOfY(plot, kTicksDown);
  return svg::Whole(kWidth, SvgPlotHeight(plot), plot.title,
                    svg::Text(kLeft, 24, "start", plot.title) + Grid(plot, x, y) +
                        Curves(plot, x, y) + Legend(plot));
}

int SvgPlotWidth() { return static_cast<int>(kWidth); }

int SvgPlotHeight(const Plot& plot) {
  return static_cast<int>(kLegendTop + kLineHeight * static_cast<double>(plot.curves.size()));
}

}  // namespace trainctl::client
