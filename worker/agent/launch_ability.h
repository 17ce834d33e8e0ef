// Whether this worker can start ranks at all. Its folder can be written and has room. The last
// start did not fail by the worker's own fault just now. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "common/base/clock.h"

namespace trainctl::agent {

class LaunchAbility {
 public:
  // What a rank's folder takes before its first line of log, and some.
  static constexpr int64_t kLeastBytes = 512 << 10;
  static constexpr int64_t kLeastInodes = 32;
  static constexpr int kMostDoublings = 5;

  // rest: how long no start is tried after a failure, doubled for each further one in a row.
  LaunchAbility(std::string directory, const base::Clock& clock, base::SteadyMicros rest)
      : directory_(std::move(directory)), clock_(clock), rest_(rest) {}

  // A rank could not be started, by no fault of its job's.
  void Failed(const std::string& why);
  void Succeeded();

  // Empty: a rank can be started, as far as anybody can tell. Writes a file where starts failed.
  std::string WhyNot();

 private:
  const std::string directory_;
  const base::Clock& clock_;
  const base::SteadyMicros rest_;
  std::string why_;   // the last start failed; empty: it did not, or its cause is over
  int failures_ = 0;  // in a row
  base::SteadyMicros rest_until_ = 0;
};

}  // namespace trainctl::agent
