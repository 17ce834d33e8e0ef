// A drawing as a PNG file, painted two pixels for each of the page: on a white ground, 192 dpi. No
// other program is needed. Pure.
#pragma once

#include <string>

#include "client/plot/drawing.h"
#include "common/base/result.h"

namespace trainctl::client::drawn {

// kInvalid: it is too large for one picture.
base::Result<std::string> PngOf(const Drawing& drawing);

}  // namespace trainctl::client::drawn
