// A plot in characters. Pure.
#pragma once

#include <string>

#include "client/plot/curve.h"

namespace trainctl::client {

inline constexpr int kLowestPlot = 4;  // lines of the drawing

struct TerminalPlotOptions {
  int width = 80;       // columns, at least 40
  int height = 20;      // lines of the drawing itself, at least kLowestPlot
  bool colour = false;  // curves are told apart by it, else by letters
  bool unicode = true;  // dots in Braille, 2 × 4 a character; else ASCII alone
  // The terminal shows kitty's graphics, and is higher than the drawing: curves are pixels.
  bool pictures = false;
};

// Title, drawing with axes, and a line a curve with its last value.
std::string TerminalPlot(const Plot& plot, const TerminalPlotOptions& options);

}  // namespace trainctl::client
