// A decoder a format, each in the source of that name: what its library has stays there.
// Thread-safe. Errors of each: kInvalid, where the file is broken, truncated, too large, or of a
// kind that decode.h does not list.
#pragma once

#include "common/base/result.h"
#include "worker/rank/images/picture.h"

namespace trainctl::images {

base::Result<Picture> DecodeJpeg(Bytes file);  // by libjpeg-turbo
base::Result<Picture> DecodePng(Bytes file);   // by libpng

// By libwebp. A build without that library has webp_missing.cc in place of webp.cc: kUnavailable.
base::Result<Picture> DecodeWebp(Bytes file);
bool HasWebp();

}  // namespace trainctl::images
