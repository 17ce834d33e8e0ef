// The load of the last minutes in a word's width. Pure.
#pragma once

#include <string>

#include "client/top/site_view.h"

namespace trainctl::client {

// "▁▁▃▇█": a column each bucket, a blank where nothing was seen. Empty of fewer than two.
std::string SparkLine(const LoadCurve& curve, bool unicode);

}  // namespace trainctl::client
