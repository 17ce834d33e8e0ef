// A line as dashes, six pixels long and three apart. Pure.
#pragma once

#include <span>
#include <vector>

#include "client/plot/drawing.h"

namespace trainctl::client::drawn {

// Each goes around the corners that it meets.
std::vector<std::vector<Place>> DashesOf(std::span<const Place> places);

}  // namespace trainctl::client::drawn
