#include "common/estimate/gradient_holding.h"

#include "common/estimate/fit.h"

namespace trainctl::job {

MemoryEstimate EstimateMemoryOn(const JobSpec& job, const Inspection& inspection, DeviceKind device,
                                int64_t device_bytes) {
  const MemoryEstimate reduced = EstimateMemory(job, inspection, device);
  if (!reduced.holds_gradients) return reduced;
  MemoryEstimate held = EstimateMemory(job, inspection, device, /*holds_gradients=*/true);
  held.holding_bytes = held.peak_allocated - reduced.peak_allocated;
  const bool fits =
      device_bytes > 0 &&
      FitsSafely(held.peak_allocated, MemoryLimit(job, {.memory_bytes = device_bytes}));
  return held.holding_bytes <= 0 || fits ? held : reduced;
}

bool HoldsGradients(const JobSpec& job, const Inspection& inspection, DeviceKind device,
                    int64_t device_bytes) {
  return EstimateMemoryOn(job, inspection, device, device_bytes).holds_gradients.value_or(false);
}

}  // namespace trainctl::job
