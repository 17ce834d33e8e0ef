#include "worker/rank/images/codecs.h"

namespace trainctl::images {

bool HasWebp() { return false; }

base::Result<Picture> DecodeWebp(Bytes) {
  return base::Error{base::Code::kUnavailable,
                     "WebP: this trainctl was built without libwebp; install libwebp-dev and build "
                     "again, or make it PNG or JPEG"};
}

}  // namespace trainctl::images
