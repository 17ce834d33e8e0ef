// Memory by kind (job::MemoryByKind) at the phases of a step, as metrics.
#pragma once

#include "common/job/outcome.h"
#include "worker/rank/process/device.h"
#include "worker/rank/process/reporter.h"
#include "worker/rank/strategy/strategy.h"

namespace trainctl::train {

class MemoryMeter {
 public:
  MemoryMeter(const RankDevice& device, const strategy::Strategy& strategy, Reporter& reporter)
      : device_(device), strategy_(strategy), reporter_(reporter) {}

  // Measures, and reports it as metric points of the step. On steps 0, 1 and every 50th.
  void Sample(int64_t step, job::Phase phase);
  static bool Samples(int64_t step) { return step <= 1 || step % 50 == 0; }

  // The run's peak so far, as points without a phase.
  void ReportPeak(int64_t step);

  job::MemoryByKind Measure() const;
  // The last sampled: for the report of an out-of-memory error, when measuring again would come too
  // late.
  const job::MemoryByKind& last() const { return last_; }

 private:
  const RankDevice& device_;
  const strategy::Strategy& strategy_;
  Reporter& reporter_;
  job::MemoryByKind last_;
};

}  // namespace trainctl::train
