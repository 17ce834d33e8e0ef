// A comparison's numbers as bars. Pure.
#pragma once

#include <vector>

#include "client/plot/drawn_bars.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

// A panel for each row of time, memory, device and loss in which a run has a number; what is no
// number has no bar.
std::vector<BarPanel> ComparisonBars(const v1::CompareResponse& response);

}  // namespace trainctl::client
