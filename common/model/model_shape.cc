#include "common/model/model_shape.h"

#include <algorithm>
#include <iterator>

namespace trainctl::job {
namespace {

constexpr std::string_view kRopeTypes[] = {"linear", "dynamic", "llama3", "yarn"};

}  // namespace

std::string_view Name(RopeType type) { return kRopeTypes[static_cast<size_t>(type)]; }

std::optional<RopeType> ParseRopeType(std::string_view name) {
  for (size_t i = 0; i < std::size(kRopeTypes); ++i) {
    if (kRopeTypes[i] == name) return static_cast<RopeType>(i);
  }
  return std::nullopt;
}

int64_t ModelShape::WindowOf(int64_t layer) const {
  return std::ranges::binary_search(full_layers, layer) ? 0 : sliding_window;
}

}  // namespace trainctl::job
