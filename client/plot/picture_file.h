// Files with pictures that verbs write for -o FILE.
#pragma once

#include <string>

#include "client/plot/drawing.h"
#include "common/base/result.h"

namespace trainctl::client::drawn {

// A PNG where the file's name ends so, else SVG. kInvalid: PngOf's. Errors else as of WriteNewFile
// (client/new_file.h).
base::Status WritePicture(const Drawing& drawing, const std::string& file, bool overwrite);

}  // namespace trainctl::client::drawn
