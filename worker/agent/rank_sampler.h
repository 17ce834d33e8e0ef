// What a rank and the processes it started use. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/clock.h"

namespace trainctl::agent {

struct RankSample {
  // Of one core, since the sample before: 200 = two cores busy. nullopt: nothing to count from.
  std::optional<double> cpu_percent;
  int64_t memory_used_bytes = 0;
  std::vector<pid_t> processes;
};

class RankSampler {
 public:
  RankSampler(pid_t pid, const base::Clock& clock) : pid_(pid), clock_(clock) {}
  // nullopt: the rank has ended.
  std::optional<RankSample> Sample();

 private:
  const pid_t pid_;
  const base::Clock& clock_;
  base::SteadyMicros sampled_at_ = 0;  // 0: never
  uint64_t cpu_ticks_ = 0;
};

}  // namespace trainctl::agent
