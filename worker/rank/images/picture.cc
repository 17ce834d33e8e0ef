#include "worker/rank/images/picture.h"

#include <algorithm>
#include <string>

namespace trainctl::images {

base::Status CheckSize(int64_t width, int64_t height) {
  const bool has_sides = std::min(width, height) > 0 && std::max(width, height) <= kLongestSide;
  if (has_sides && width <= kMostPixels / height) return base::Ok{};
  return base::Error{base::Code::kInvalid,
                     std::to_string(width) + " × " + std::to_string(height) +
                         " pixels: expected at most " + std::to_string(kMostPixels) +
                         ", and sides of at most " + std::to_string(kLongestSide)};
}

}  // namespace trainctl::images
