#include "client/plot/svg_plot.h"

#include "client/plot/svg.h"
#include "client/plot/svg_axes.h"
#include "client/show/format.h"
#include "client/show/markup.h"

namespace trainctl::client {
namespace {

using svg::Axes;

constexpr double kLegendTop = Axes::kBottom + 52, kLineHeight = 20;
constexpr int kLongestLabel = 90;

// Dashed where the colours begin again.
std::string StrokeOf(size_t curve) {
  std::string stroke = std::string("stroke=\"") + svg::Colour(curve) + "\"";
  if (curve >= svg::kColours) stroke += " stroke-dasharray=\"6 3\"";
  return stroke;
}

std::string Curves(const Plot& plot, const Axes& axes) {
  std::string text;
  for (size_t i = 0; i < plot.curves.size(); ++i) {
    const Curve& curve = plot.curves[i];
    text += "<polyline class=\"c\" " + StrokeOf(i) + " points=\"";
    const auto width = static_cast<size_t>(Axes::kDrawnWidth);
    for (const Sample& sample : Downsample(curve.samples, axes.x(), width)) {
      if (plot.log && sample.y <= 0) continue;
      text += svg::Number(axes.PlaceX(sample.x)) + "," + svg::Number(axes.PlaceY(sample.y)) + " ";
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
    text += svg::Line(Axes::kLeft, at, Axes::kLeft + 28, at, "class=\"c\" " + StrokeOf(i));
    text +=
        svg::Text(Axes::kLeft + 36, at + 4, "start", Truncate(curve.label, kLongestLabel) + last);
  }
  return text;
}

}  // namespace

std::string SvgPlot(const Plot& plot) {
  const Axes axes(plot);
  return svg::Whole(Axes::kWidth, SvgPlotHeight(plot), plot.title,
                    svg::Text(Axes::kLeft, 24, "start", plot.title) +
                        axes.Grid(plot.over_time ? "time since the start" : "step") +
                        Curves(plot, axes) + Legend(plot));
}

int SvgPlotWidth() { return static_cast<int>(Axes::kWidth); }

int SvgPlotHeight(const Plot& plot) {
  return static_cast<int>(kLegendTop + kLineHeight * static_cast<double>(plot.curves.size()));
}

}  // namespace trainctl::client
