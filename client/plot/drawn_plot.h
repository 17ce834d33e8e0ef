// A plot's curves with their axes and a legend. Pure.
#pragma once

#include "client/plot/curve.h"
#include "client/plot/drawing.h"

namespace trainctl::client::drawn {

Drawing DrawingOf(const Plot& plot);

}  // namespace trainctl::client::drawn
