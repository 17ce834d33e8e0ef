#include "client/plot/svg_ways.h"

#include <algorithm>

#include "client/plot/curve.h"
#include "client/plot/svg.h"
#include "client/show/format.h"

namespace trainctl::client {
namespace {

constexpr int kWaysWidth = 900, kWaysLegendTop = 424, kWaysLineHeight = 20;
constexpr double kWaysLeft = 90, kWaysTop = 40, kWaysRoom = 790, kWaysDown = 320;
constexpr double kWaysBottom = kWaysTop + kWaysDown;
constexpr int kLongestWay = 100;

int64_t Numbered(const WaysPicture& picture) {
  return std::ranges::count_if(picture.points,
                               [](const WayPoint& point) { return !point.label.empty(); });
}

// One that is far above all points would leave them no room.
bool ShowsLimit(const WaysPicture& picture) {
  double most = 0;
  for (const WayPoint& point : picture.points) most = std::max(most, point.bytes);
  return picture.limit_bytes > 0 && picture.limit_bytes <= 4 * most;
}

// The axes are those of a plot with the same points, both from 0.
Plot PlotOf(const WaysPicture& picture) {
  Plot plot{.title = picture.title, .unit = "bytes", .over_time = true, .curves = {{}}};
  std::vector<Sample>& samples = plot.curves.front().samples;
  samples.push_back({0, 0});
  for (const WayPoint& point : picture.points) samples.push_back({point.seconds, point.bytes});
  if (ShowsLimit(picture)) samples.push_back({0, picture.limit_bytes});
  return plot;
}

std::string Dot(double x, double y, double radius, const std::string& attributes) {
  return "<circle cx=\"" + svg::Number(x) + "\" cy=\"" + svg::Number(y) + "\" r=\"" +
         svg::Number(radius) + "\" " + attributes + "/>\n";
}

}  // namespace

int SvgWaysWidth() { return kWaysWidth; }

int SvgWaysHeight(const WaysPicture& picture) {
  return kWaysLegendTop + kWaysLineHeight * static_cast<int>(Numbered(picture) + 1);
}

std::string SvgWays(const WaysPicture& picture) {
  const Plot plot = PlotOf(picture);
  const Axis x = AxisOfX(plot, 8), y = AxisOfY(plot, 6);
  const auto place_x = [&](double seconds) { return kWaysLeft + x.Place(seconds) * kWaysRoom; };
  const auto place_y = [&](double bytes) { return kWaysBottom - y.Place(bytes) * kWaysDown; };
  std::string body = svg::Text(kWaysLeft, 24, "start", picture.title);
  const std::vector<std::string> labels = TicksOfY(plot, y);
  for (size_t i = 0; i < y.ticks.size(); ++i) {
    const double at = place_y(y.ticks[i]);
    body += svg::Line(kWaysLeft, at, kWaysLeft + kWaysRoom, at, "class=\"g\"");
    body += svg::Text(kWaysLeft - 8, at + 4, "end", labels[i]);
  }
  for (const double tick : x.ticks) {
    body += svg::Line(place_x(tick), kWaysTop, place_x(tick), kWaysBottom, "class=\"g\"");
    body += svg::Text(place_x(tick), kWaysBottom + 18, "middle", TickOfX(plot, tick));
  }
  body += svg::Text(kWaysLeft + kWaysRoom / 2, kWaysBottom + 38, "middle",
                    "time of the whole run; upwards the peak of a device");
  if (picture.limit_bytes > 0) {
    const bool shown = ShowsLimit(picture);
    const double at = shown ? place_y(picture.limit_bytes) : kWaysTop;
    if (shown)
      body += svg::Line(kWaysLeft, at, kWaysLeft + kWaysRoom, at,
                        "stroke=\"#c62828\" stroke-width=\"1.5\" stroke-dasharray=\"6 3\"");
    body += svg::Text(kWaysLeft + kWaysRoom, at - 5, "end",
                      "limit " + FormatWithUnit(picture.limit_bytes, "bytes") +
                          (shown ? "" : ", above the picture"));
  }
  for (const WayPoint& point : picture.points) {
    if (point.label.empty())
      body += Dot(place_x(point.seconds), place_y(point.bytes), 2, "fill=\"#8888\"");
  }
  int number = 0;
  for (const WayPoint& point : picture.points) {
    if (point.label.empty()) continue;
    const std::string name = std::to_string(++number);
    const std::string colour =
        "fill=\"" + std::string(svg::Colour(static_cast<size_t>(number - 1))) + "\"";
    body += Dot(place_x(point.seconds), place_y(point.bytes), 5, colour);
    body += svg::Text(place_x(point.seconds) + 8, place_y(point.bytes) - 6, "start", name);
    const double at = kWaysLegendTop + kWaysLineHeight * (number - 1);
    body += Dot(kWaysLeft, at - 4, 5, colour);
    body +=
        svg::Text(kWaysLeft + 14, at, "start", Truncate(name + "  " + point.label, kLongestWay));
  }
  return svg::Whole(kWaysWidth, SvgWaysHeight(picture), picture.title, body);
}

}  // namespace trainctl::client
