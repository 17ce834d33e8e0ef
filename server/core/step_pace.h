// How fast a live attempt steps, from the steps that rank 0 has measured.
#pragma once

#include <cstdint>
#include <optional>

#include "common/base/clock.h"
#include "common/rank/metric.h"

namespace trainctl::core {

class StepPace {
 public:
  // A point of step_seconds; others are passed over.
  void Add(const job::MetricPoint& point, base::SteadyMicros now);

  // From the start of the first step, with what came between the steps: evaluations, checkpoints.
  // Loading is no part of it. nullopt: no step has ended.
  std::optional<double> SecondsPerStep() const;
  // When the last step was told of.
  base::SteadyMicros heard() const { return heard_; }

 private:
  int64_t steps_ = 0;
  double seconds_ = 0;  // in steps
  double first_seconds_ = 0;
  base::WallMicros first_ended_ = 0, last_ended_ = 0;  // by the rank's clock
  base::SteadyMicros heard_ = 0;
};

}  // namespace trainctl::core
