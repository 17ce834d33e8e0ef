// Memory by kind (job::MemoryByKind) at the phases of a step, as metrics.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/job/outcome.h"
#include "worker/rank/process/device.h"
#include "worker/rank/process/reporter.h"
#include "worker/rank/strategy/strategy.h"

namespace trainctl::train {

// All kinds, from the strategy's own (Strategy::Held) and what the device's allocator has given
// out: `allocated` now, or when it refused. `other` are activations, logits, workspaces.
job::MemoryByKind AllKinds(job::MemoryByKind held, int64_t allocated, const RankDevice& device);

class MemoryMeter {
 public:
  MemoryMeter(const RankDevice& device, const strategy::Strategy& strategy, Reporter& reporter,
              int64_t total_steps)
      : device_(device),
        strategy_(strategy),
        reporter_(reporter),
        interval_(std::clamp<int64_t>(total_steps / kFewestSamples, 1, kLongestInterval)) {}

  // Of a step that it samples: measures, and reports it as metric points.
  void Sample(int64_t step, job::Phase phase);
  // Steps 0 and 1, and then every 50th; more often in a run of less than 1,000 steps.
  bool Samples(int64_t step) const { return step <= 1 || step % interval_ == 0; }

  // The run's peak so far, as points without a phase.
  void ReportPeak(int64_t step);

  job::MemoryByKind Measure() const;

 private:
  static constexpr int64_t kFewestSamples = 20, kLongestInterval = 50;

  const RankDevice& device_;
  const strategy::Strategy& strategy_;
  Reporter& reporter_;
  const int64_t interval_;
};

}  // namespace trainctl::train
