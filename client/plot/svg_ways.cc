#include "client/plot/svg_ways.h"

#include <algorithm>

#include "client/plot/curve.h"
#include "client/plot/svg.h"
#include "client/plot/svg_axes.h"
#include "client/show/format.h"

namespace trainctl::client {
namespace {

using svg::Axes;

constexpr int kWaysLegendTop = 424, kWaysLineHeight = 20;
constexpr int kLongestWay = 100;

int64_t Numbered(const WaysPicture& picture) {
  return std::ranges::count_if(picture.points,
                               [](const WayPoint& point) { return !point.label.empty(); });
}

bool HasMeasured(const WaysPicture& picture) {
  return std::ranges::any_of(picture.points, &WayPoint::measured);
}

int KeyLines(const WaysPicture& picture) {
  return static_cast<int>(Numbered(picture)) + (picture.asked ? 1 : 0) +
         (HasMeasured(picture) ? 1 : 0);
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

std::string Dot(double x, double y, double radius, const std::string& attributes) {
  return "<circle cx=\"" + svg::Number(x) + "\" cy=\"" + svg::Number(y) + "\" r=\"" +
         svg::Number(radius) + "\" " + attributes + "/>\n";
}

std::string Ring(double x, double y) {
  return Dot(x, y, 9, "fill=\"none\" stroke=\"#888\" stroke-width=\"1.5\"");
}

std::string Triangle(double x, double y) {
  return "<path d=\"M" + svg::Number(x) + " " + svg::Number(y - 9) +
         "l8 14h-16z\" fill=\"none\" stroke=\"#c62828\" stroke-width=\"2\"/>\n";
}

// Below the lines of the numbers.
std::string KeyOfMarks(const WaysPicture& picture) {
  std::string key;
  double at = kWaysLegendTop + kWaysLineHeight * static_cast<double>(Numbered(picture));
  const auto add = [&](const std::string& mark, const std::string& words) {
    key += mark + svg::Text(Axes::kLeft + 14, at, "start", words);
    at += kWaysLineHeight;
  };
  if (picture.asked) add(Triangle(Axes::kLeft, at - 4), "as it is");
  if (HasMeasured(picture)) add(Ring(Axes::kLeft, at - 4), "measured in earlier runs");
  return key;
}

}  // namespace

int SvgWaysWidth() { return static_cast<int>(Axes::kWidth); }

int SvgWaysHeight(const WaysPicture& picture) {
  return kWaysLegendTop + kWaysLineHeight * (KeyLines(picture) + 1);
}

std::string SvgWays(const WaysPicture& picture) {
  const Plot plot = PlotOf(picture);
  const Axes axes(plot);
  std::string body = svg::Text(Axes::kLeft, 24, "start", picture.title) +
                     axes.Grid("time of the whole run; upwards the peak of a device");
  if (picture.limit_bytes > 0) {
    const bool shown = ShowsLimit(picture);
    const double at = shown ? axes.PlaceY(picture.limit_bytes) : Axes::kTop;
    if (shown)
      body += svg::Line(Axes::kLeft, at, Axes::kLeft + Axes::kDrawnWidth, at,
                        "stroke=\"#c62828\" stroke-width=\"1.5\" stroke-dasharray=\"6 3\"");
    body += svg::Text(Axes::kLeft + Axes::kDrawnWidth, at - 5, "end",
                      "limit " + FormatWithUnit(picture.limit_bytes, "bytes") +
                          (shown ? "" : ", above the picture"));
  }
  for (const WayPoint& point : picture.points) {
    const double x = axes.PlaceX(point.seconds), y = axes.PlaceY(point.bytes);
    if (point.label.empty()) body += Dot(x, y, 2, "fill=\"#8888\"");
    if (point.measured) body += Ring(x, y);
  }
  int number = 0;
  for (const WayPoint& point : picture.points) {
    if (point.label.empty()) continue;
    const std::string name = std::to_string(++number);
    const std::string colour =
        "fill=\"" + std::string(svg::Colour(static_cast<size_t>(number - 1))) + "\"";
    body += Dot(axes.PlaceX(point.seconds), axes.PlaceY(point.bytes), 5, colour);
    body += svg::Text(axes.PlaceX(point.seconds) + 8, axes.PlaceY(point.bytes) - 6, "start", name);
    const double at = kWaysLegendTop + kWaysLineHeight * (number - 1);
    body += Dot(Axes::kLeft, at - 4, 5, colour);
    body +=
        svg::Text(Axes::kLeft + 14, at, "start", Truncate(name + "  " + point.label, kLongestWay));
  }
  if (picture.asked)
    body += Triangle(axes.PlaceX(picture.asked->seconds), axes.PlaceY(picture.asked->bytes));
  body += KeyOfMarks(picture);
  return svg::Whole(Axes::kWidth, SvgWaysHeight(picture), picture.title, body);
}

}  // namespace trainctl::client
