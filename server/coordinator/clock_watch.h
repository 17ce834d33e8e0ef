// Notices that the host's clock was set: wall time and steady time went on by unlike amounts.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>

#include "common/base/clock.h"

namespace trainctl::coordinator {

class ClockWatch {
 public:
  // What is less is drift that a time service corrects.
  static constexpr int64_t kLeastMicros = 5'000'000;

  // By how much the clock was set since the last look, back where it is negative; nullopt: it was
  // not. Of a host that slept: for how long.
  std::optional<int64_t> Look(base::WallMicros wall, base::SteadyMicros steady) {
    const int64_t ahead = wall - steady;
    const int64_t moved = ahead - ahead_.value_or(ahead);
    ahead_ = ahead;
    if (std::abs(moved) < kLeastMicros) return std::nullopt;
    ++jumps_;
    return moved;
  }

  int64_t jumps() const { return jumps_; }

 private:
  std::optional<int64_t> ahead_;  // wall time of steady time, when it was looked at last
  int64_t jumps_ = 0;
};

}  // namespace trainctl::coordinator
