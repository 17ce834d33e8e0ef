#include "client/plot/dashes.h"

#include <algorithm>
#include <cmath>

namespace trainctl::client::drawn {
namespace {

constexpr double kDash = 6, kGap = 3;

Place Between(Place from, Place to, double share) {
  return {from.x + share * (to.x - from.x), from.y + share * (to.y - from.y)};
}

}  // namespace

std::vector<std::vector<Place>> DashesOf(std::span<const Place> places) {
  std::vector<std::vector<Place>> dashes;
  if (places.empty()) return dashes;
  dashes.push_back({places.front()});
  bool drawn = true;
  double left = kDash;  // until the pen is lifted, or lowered
  for (size_t i = 1; i < places.size(); ++i) {
    const Place from = places[i - 1], to = places[i];
    const double length = std::hypot(to.x - from.x, to.y - from.y);
    double gone = 0;
    while (length - gone > left) {
      gone += left;
      const Place at = Between(from, to, gone / length);
      if (drawn) {
        dashes.back().push_back(at);
      } else {
        dashes.push_back({at});
      }
      drawn = !drawn;
      left = drawn ? kDash : kGap;
    }
    left -= length - gone;
    if (drawn) dashes.back().push_back(to);
  }
  return dashes;
}

}  // namespace trainctl::client::drawn
