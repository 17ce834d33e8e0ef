// WebP through libwebp. A build without that library has webp_missing.cc in place of webp.cc.
#pragma once

#include "common/base/result.h"
#include "worker/rank/images/picture.h"

namespace trainctl::images {

// kInvalid: broken, truncated, too large, or animated; kUnavailable: this build has no libwebp.
// Thread-safe.
base::Result<Picture> DecodeWebp(Bytes file);

// Whether this build has libwebp.
bool HasWebp();

}  // namespace trainctl::images
