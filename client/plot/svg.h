// A drawing as one SVG element: a file of its own, or within a page. Nothing is loaded from
// elsewhere. Pure.
#pragma once

#include <string>

#include "client/plot/drawing.h"

namespace trainctl::client::drawn {

// Texts are escaped. It is readable on a bright and on a dark ground.
std::string SvgOf(const Drawing& drawing);

}  // namespace trainctl::client::drawn
