// How a picture is to be turned before it is looked at: as its EXIF says (Exif 2.3, 4.6.4). One
// that says nothing there is asked by its XMP (tiff:Orientation), unless a PNG has compressed that.
// Thread-safe.
#pragma once

#include "worker/rank/images/picture.h"

namespace trainctl::images {

inline constexpr int kUpright = 1;

// Of a JPEG, PNG or WebP, 1 … 8: where the first row and the first column of its pixels belong.
// kUpright where it says nothing, and where what it says is broken. Reads a few bytes of headers.
int OrientationOf(Bytes file);

// As Pillow's ImageOps.exif_transpose.
Picture Turned(Picture picture, int orientation);

}  // namespace trainctl::images
