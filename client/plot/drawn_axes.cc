#include "client/plot/drawn_axes.h"

#include <vector>

namespace trainctl::client::drawn {
namespace {

constexpr int kTicksAcross = 8, kTicksDown = 6;

}  // namespace

Axes::Axes(const Plot& plot)
    : plot_(plot), x_(AxisOfX(plot, kTicksAcross)), y_(AxisOfY(plot, kTicksDown)) {}

void Axes::Draw(const std::string& words, Drawing* drawing) const {
  std::vector<Shape>& shapes = drawing->shapes;
  shapes.push_back(Words{{kLeft, 24}, Words::Anchor::kStart, drawing->title});
  const std::vector<std::string> labels = TicksOfY(plot_, y_);
  for (size_t i = 0; i < y_.ticks.size(); ++i) {
    const double at = PlaceY(y_.ticks[i]);
    shapes.push_back(Segment{Pen(), {kLeft, at}, {kLeft + kDrawnWidth, at}});
    shapes.push_back(Words{{kLeft - 8, at + 4}, Words::Anchor::kEnd, labels[i]});
  }
  for (const double tick : x_.ticks) {
    const double at = PlaceX(tick);
    shapes.push_back(Segment{Pen(), {at, kTop}, {at, kBottom}});
    shapes.push_back(Words{{at, kBottom + 18}, Words::Anchor::kMiddle, TickOfX(plot_, tick)});
  }
  shapes.push_back(Words{{kLeft + kDrawnWidth / 2, kBottom + 38}, Words::Anchor::kMiddle, words});
}

}  // namespace trainctl::client::drawn
