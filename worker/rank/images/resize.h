// Image.resize of Pillow 13 with BICUBIC, to the last bit. Pure.
#pragma once

#include <cstdint>

#include "worker/rank/images/picture.h"

namespace trainctl::images {

// Both sizes are positive. Each output pixel is a weighted mean of all input pixels under the
// filter. That is as wide as the picture shrinks: no aliasing. Widths first, then heights, each
// rounded to 8 bits (libImaging: Resample.c). Heights come first where they shrink by more than
// twice as many pixels as widths do. Pillow before 13 never does that: such pictures differ there.
Picture Resized(const Picture& picture, int64_t width, int64_t height);

}  // namespace trainctl::images
