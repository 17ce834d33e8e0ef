// A file's bytes as a picture, as transformers' image processors see it: Pillow's RGB, what is
// transparent put on white. It is turned as its EXIF or XMP says, as Hugging Face's datasets do.
//
//   JPEG  8 bits: gray, RGB, YCbCr, CMYK and YCCK (inverted, as Adobe writes them)
//   PNG   every kind but gray of 16 bits; of an animated one the picture that stands first
//   WebP  lossy and lossless, not animated
//
// Colour profiles and gamma are ignored. Thread-safe.
#pragma once

#include <string>

#include "common/base/result.h"
#include "worker/rank/images/picture.h"
#include "worker/rank/images/picture_file.h"

namespace trainctl::images {

// kInvalid: the message says what is wrong with the picture, never which file it is.
base::Result<Picture> Decode(Bytes file);

// The same of a file or a part of one. Errors: those of ReadPicture and Decode, with the name in
// front.
base::Result<Picture> DecodeFile(const PictureFile& file);

}  // namespace trainctl::images
