#include "client/plot/drawn_plot.h"

#include "client/plot/drawn_axes.h"
#include "client/show/format.h"

namespace trainctl::client::drawn {
namespace {

constexpr double kLegendTop = Axes::kBottom + 52, kLineHeight = 20;
constexpr int kLongestLabel = 90;
constexpr double kDotRadius = 3;

void DrawCurves(const Plot& plot, const Axes& axes, std::vector<Shape>* shapes) {
  const auto width = static_cast<size_t>(Axes::kDrawnWidth);
  for (size_t i = 0; i < plot.curves.size(); ++i) {
    const Curve& curve = plot.curves[i];
    PolyLine line{CurvePen(i), curve.label, {}};
    for (const Sample& sample : Downsample(curve.samples, axes.x(), width)) {
      if (!plot.log || sample.y > 0) line.places.push_back(axes.PlaceOf(sample.x, sample.y));
    }
    // A line of one place covers nothing.
    if (line.places.size() == 1)
      shapes->push_back(Disc{line.places.front(), kDotRadius, line.pen.colour});
    shapes->push_back(std::move(line));
  }
}

void DrawLegend(const Plot& plot, std::vector<Shape>* shapes) {
  for (size_t i = 0; i < plot.curves.size(); ++i) {
    const Curve& curve = plot.curves[i];
    const double at = kLegendTop + kLineHeight * static_cast<double>(i);
    const std::string end = EndText(plot, curve), last = (end.empty() ? "" : ": ") + end;
    shapes->push_back(Segment{CurvePen(i), {Axes::kLeft, at}, {Axes::kLeft + 28, at}});
    shapes->push_back(Words{{Axes::kLeft + 36, at + 4},
                            Words::Anchor::kStart,
                            Truncate(curve.label, kLongestLabel) + last});
  }
}

}  // namespace

Drawing DrawingOf(const Plot& plot) {
  const Axes axes(plot);
  Drawing drawing{plot.title, Axes::kWidth,
                  kLegendTop + kLineHeight * static_cast<double>(plot.curves.size())};
  axes.Draw(plot.over_time ? "time since the start" : "step", &drawing);
  DrawCurves(plot, axes, &drawing.shapes);
  DrawLegend(plot, &drawing.shapes);
  return drawing;
}

}  // namespace trainctl::client::drawn
