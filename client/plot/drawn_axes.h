// What a plot's points are drawn on: two axes with their grid. Pure. In pixels.
#pragma once

#include <string>

#include "client/plot/curve.h"
#include "client/plot/drawing.h"

namespace trainctl::client::drawn {

class Axes {
 public:
  static constexpr double kWidth = 900, kLeft = 90, kTop = 40;
  static constexpr double kDrawnWidth = kWidth - kLeft - 20, kDrawnHeight = 320;
  static constexpr double kBottom = kTop + kDrawnHeight;

  // Of all points of the plot, which outlives the axes.
  explicit Axes(const Plot& plot);

  double PlaceX(double value) const { return kLeft + x_.Place(value) * kDrawnWidth; }
  double PlaceY(double value) const { return kBottom - y_.Place(value) * kDrawnHeight; }
  Place PlaceOf(double x, double y) const { return {PlaceX(x), PlaceY(y)}; }
  const Axis& x() const { return x_; }

  // The title, lines with their values, and words below.
  void Draw(const std::string& words, Drawing* drawing) const;

 private:
  const Plot& plot_;
  const Axis x_, y_;
};

}  // namespace trainctl::client::drawn
