// Pictures, decoded and brought to a model's side.
#include <span>

#include "common/base/check.h"
#include "tests/fuzz/targets.h"
#include "worker/rank/images/decode.h"
#include "worker/rank/images/pixels.h"

namespace trainctl::fuzz {

bool ReadPicture(std::string_view bytes) {
  const auto picture = images::Decode(std::as_bytes(std::span(bytes.data(), bytes.size())));
  if (!picture) return false;
  CHECK(std::ssize(picture->rgb) == picture->width * picture->height * 3);
  constexpr int64_t kSide = 28;
  CHECK(std::ssize(images::PixelsOf(*picture, kSide)) == images::PixelBytes(kSide));
  return true;
}

}  // namespace trainctl::fuzz
