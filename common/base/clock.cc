#include "common/base/clock.h"

#include <chrono>

namespace trainctl::base {

using std::chrono::duration_cast;
using std::chrono::microseconds;

WallMicros SystemClock::Wall() const {
  return duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

SteadyMicros SystemClock::Steady() const {
  return duration_cast<microseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace trainctl::base
