#include "server/core/step_pace.h"

#include <algorithm>
#include <cmath>

namespace trainctl::core {

void StepPace::Add(const job::MetricPoint& point, base::SteadyMicros now) {
  const bool is_step = point.name == job::Name(job::Metric::kStepSeconds);
  if (!is_step || !std::isfinite(point.value) || point.value < 0) return;
  if (steps_ == 0) {
    first_seconds_ = point.value;
    first_ended_ = point.time;
  }
  ++steps_;
  seconds_ += point.value;
  last_ended_ = point.time;
  heard_ = now;
}

std::optional<double> StepPace::SecondsPerStep() const {
  if (steps_ == 0) return std::nullopt;
  const double passed = first_seconds_ + static_cast<double>(last_ended_ - first_ended_) / 1e6;
  return std::max(seconds_, passed) / static_cast<double>(steps_);
}

}  // namespace trainctl::core
