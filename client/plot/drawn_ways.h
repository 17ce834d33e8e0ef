// Ways to run one training as points, time against memory. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/plot/drawing.h"

namespace trainctl::client {

struct WayPoint {
  double seconds = 0;     // of the whole run
  double bytes = 0;       // of a device, at its peak
  std::string label;      // beside its number; empty: a small point without a number
  bool measured = false;  // its time: a ring is around it
};

struct WaysPicture {
  std::string title;
  std::vector<WayPoint> points;
  double limit_bytes = 0;                 // a line; 0: none
  std::optional<WayPoint> asked = {};     // the job as it is: a triangle
  std::vector<std::string> remarks = {};  // below all others, broken into lines
};

namespace drawn {

Drawing DrawingOf(const WaysPicture& picture);

}  // namespace drawn
}  // namespace trainctl::client
