// Files with pictures that verbs write for -o FILE.
#pragma once

#include <string>

#include "client/plot/drawing.h"
#include "common/base/result.h"

namespace trainctl::client::drawn {

// A PNG where the file's name ends so, else SVG. kInvalid: PngOf's.
base::Status WritePicture(const Drawing& drawing, const std::string& file);

}  // namespace trainctl::client::drawn
