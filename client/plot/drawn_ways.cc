#include "client/plot/drawn_ways.h"

#include <algorithm>
#include <iterator>

#include "client/plot/curve.h"
#include "client/plot/drawn_axes.h"
#include "client/show/format.h"

namespace trainctl::client::drawn {
namespace {

constexpr int kWaysLegendTop = 424, kWaysLineHeight = 20;
constexpr int kLongestWay = 100;
constexpr const char* kRed = "#c62828";

int64_t Numbered(const WaysPicture& picture) {
  return std::ranges::count_if(picture.points,
                               [](const WayPoint& point) { return !point.label.empty(); });
}

bool HasMeasured(const WaysPicture& picture) {
  return std::ranges::any_of(picture.points, &WayPoint::measured);
}

std::vector<std::string> RemarkLines(const WaysPicture& picture) {
  std::vector<std::string> lines;
  for (const std::string& remark : picture.remarks)
    std::ranges::move(WrapWords(remark, kLongestWay), std::back_inserter(lines));
  return lines;
}

int KeyLines(const WaysPicture& picture) {
  return static_cast<int>(Numbered(picture)) + (picture.asked ? 1 : 0) +
         (HasMeasured(picture) ? 1 : 0) + static_cast<int>(RemarkLines(picture).size());
}

// One that is far above all points would leave them no room.
bool ShowsLimit(const WaysPicture& picture) {
  double most = 0;
  for (const WayPoint& point : picture.points) most = std::max(most, point.bytes);
  if (picture.asked) most = std::max(most, picture.asked->bytes);
  return picture.limit_bytes > 0 && picture.limit_bytes <= 4 * most;
}

// The axes are those of a plot with the same points, both from 0.
Plot PlotOf(const WaysPicture& picture) {
  Plot plot{.title = picture.title, .unit = "bytes", .over_time = true, .curves = {{}}};
  std::vector<Sample>& samples = plot.curves.front().samples;
  samples.push_back({0, 0});
  for (const WayPoint& point : picture.points) samples.push_back({point.seconds, point.bytes});
  if (picture.asked) samples.push_back({picture.asked->seconds, picture.asked->bytes});
  if (ShowsLimit(picture)) samples.push_back({0, picture.limit_bytes});
  return plot;
}

Ring MeasuredRing(Place middle) { return {middle, 9, {Pen::Kind::kMark, "#888", 1.5}}; }

Triangle AskedTriangle(Place middle) {
  return {{middle.x, middle.y - 9}, {Pen::Kind::kMark, kRed, 2}};
}

void DrawLimit(const WaysPicture& picture, const Axes& axes, std::vector<Shape>* shapes) {
  if (picture.limit_bytes <= 0) return;
  const bool shown = ShowsLimit(picture);
  const double at = shown ? axes.PlaceY(picture.limit_bytes) : Axes::kTop;
  const double right = Axes::kLeft + Axes::kDrawnWidth;
  if (shown)
    shapes->push_back(
        Segment{{Pen::Kind::kMark, kRed, 1.5, /*dashed=*/true}, {Axes::kLeft, at}, {right, at}});
  shapes->push_back(Words{{right, at - 5},
                          Words::Anchor::kEnd,
                          "limit " + FormatWithUnit(picture.limit_bytes, "bytes") +
                              (shown ? "" : ", above the picture")});
}

void DrawSmallPoints(const WaysPicture& picture, const Axes& axes, std::vector<Shape>* shapes) {
  for (const WayPoint& point : picture.points) {
    const Place at = axes.PlaceOf(point.seconds, point.bytes);
    if (point.label.empty()) shapes->push_back(Disc{at, 2, "#8888"});
    if (point.measured) shapes->push_back(MeasuredRing(at));
  }
}

// Each with its line of the key.
void DrawNumberedPoints(const WaysPicture& picture, const Axes& axes, std::vector<Shape>* shapes) {
  int number = 0;
  for (const WayPoint& point : picture.points) {
    if (point.label.empty()) continue;
    const std::string name = std::to_string(++number);
    const char* colour = ColourOf(static_cast<size_t>(number - 1));
    const Place place = axes.PlaceOf(point.seconds, point.bytes);
    shapes->push_back(Disc{place, 5, colour});
    shapes->push_back(Words{{place.x + 8, place.y - 6}, Words::Anchor::kStart, name});
    const double at = kWaysLegendTop + kWaysLineHeight * (number - 1);
    shapes->push_back(Disc{{Axes::kLeft, at - 4}, 5, colour});
    shapes->push_back(Words{{Axes::kLeft + 14, at},
                            Words::Anchor::kStart,
                            Truncate(name + "  " + point.label, kLongestWay)});
  }
}

// Below the lines of the numbers; then the remarks.
void DrawKeyOfMarks(const WaysPicture& picture, std::vector<Shape>* shapes) {
  double at = kWaysLegendTop + kWaysLineHeight * static_cast<double>(Numbered(picture));
  const auto add = [&](const Shape& mark, const std::string& words) {
    shapes->push_back(mark);
    shapes->push_back(Words{{Axes::kLeft + 14, at}, Words::Anchor::kStart, words});
    at += kWaysLineHeight;
  };
  if (picture.asked) add(AskedTriangle({Axes::kLeft, at - 4}), "as it is");
  if (HasMeasured(picture)) add(MeasuredRing({Axes::kLeft, at - 4}), "measured in earlier runs");
  for (const std::string& line : RemarkLines(picture)) {
    shapes->push_back(Words{{Axes::kLeft, at}, Words::Anchor::kStart, line});
    at += kWaysLineHeight;
  }
}

}  // namespace

Drawing DrawingOf(const WaysPicture& picture) {
  const Plot plot = PlotOf(picture);
  const Axes axes(plot);
  Drawing drawing{picture.title, Axes::kWidth,
                  static_cast<double>(kWaysLegendTop + kWaysLineHeight * (KeyLines(picture) + 1))};
  axes.Draw("time of the whole run; upwards the peak of a device", &drawing);
  DrawLimit(picture, axes, &drawing.shapes);
  DrawSmallPoints(picture, axes, &drawing.shapes);
  DrawNumberedPoints(picture, axes, &drawing.shapes);
  if (picture.asked) {
    drawing.shapes.push_back(
        AskedTriangle(axes.PlaceOf(picture.asked->seconds, picture.asked->bytes)));
  }
  DrawKeyOfMarks(picture, &drawing.shapes);
  return drawing;
}

}  // namespace trainctl::client::drawn
