// A plot in characters. Pure.
#pragma once

#include <string>

#include "client/plot/curve.h"

namespace trainctl::client {

inline constexpr int kLowestPlot = 4;  // lines of the drawing

// As what curves are sent to a terminal that is higher than the drawing.
enum class Graphics { kCharacters, kKitty, kSixel };

struct TerminalPlotOptions {
  int width = 80;       // columns, at least 40
  int height = 20;      // lines of the drawing itself, at least kLowestPlot
  bool colour = false;  // curves are told apart by it, else by letters
  bool unicode = true;  // dots in Braille, 2 × 4 a character; else ASCII alone
  Graphics graphics = Graphics::kCharacters;
  int cell_width = 10, cell_height = 20;  // pixels of a character of this terminal
};

// Title, drawing with axes, and a line a curve with its last value.
std::string TerminalPlot(const Plot& plot, const TerminalPlotOptions& options);

}  // namespace trainctl::client
