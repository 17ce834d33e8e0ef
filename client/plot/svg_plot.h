// A plot as one SVG element: a file of its own, or within a page. Nothing is loaded from elsewhere.
// Pure.
#pragma once

#include <string>

#include "client/plot/curve.h"

namespace trainctl::client {

// Texts are escaped. It is readable on a bright and on a dark ground.
std::string SvgPlot(const Plot& plot);
// In pixels.
int SvgPlotWidth();
int SvgPlotHeight(const Plot& plot);

}  // namespace trainctl::client
