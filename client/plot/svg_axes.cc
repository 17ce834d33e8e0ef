#include "client/plot/svg_axes.h"

#include <vector>

#include "client/plot/svg.h"

namespace trainctl::client::svg {
namespace {

constexpr int kTicksAcross = 8, kTicksDown = 6;

}  // namespace

Axes::Axes(const Plot& plot)
    : plot_(plot), x_(AxisOfX(plot, kTicksAcross)), y_(AxisOfY(plot, kTicksDown)) {}

std::string Axes::Grid(const std::string& words) const {
  std::string text;
  const std::vector<std::string> labels = TicksOfY(plot_, y_);
  for (size_t i = 0; i < y_.ticks.size(); ++i) {
    const double at = PlaceY(y_.ticks[i]);
    text += Line(kLeft, at, kLeft + kDrawnWidth, at, "class=\"g\"");
    text += Text(kLeft - 8, at + 4, "end", labels[i]);
  }
  for (const double tick : x_.ticks) {
    const double at = PlaceX(tick);
    text += Line(at, kTop, at, kBottom, "class=\"g\"");
    text += Text(at, kBottom + 18, "middle", TickOfX(plot_, tick));
  }
  return text + Text(kLeft + kDrawnWidth / 2, kBottom + 38, "middle", words);
}

}  // namespace trainctl::client::svg
