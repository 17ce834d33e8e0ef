// PNG through libpng. Everything of the library stays in png.cc.
#pragma once

#include "common/base/result.h"
#include "worker/rank/images/picture.h"

namespace trainctl::images {

// kInvalid: broken, truncated, too large, or of a kind that decode.h does not list. Thread-safe.
base::Result<Picture> DecodePng(Bytes file);

}  // namespace trainctl::images
