#include "worker/rank/train/memory_meter.h"

#include <algorithm>

#include "common/rank/memory_kind.h"

namespace trainctl::train {

job::MemoryByKind AllKinds(job::MemoryByKind held, int64_t allocated, const RankDevice& device) {
  // On a CPU slot the CPU optimizer's state is in the same memory.
  const bool is_cpu = device.device().is_cpu();
  const int64_t on_device =
      held.params + held.grads + held.optimizer + (is_cpu ? held.optimizer_cpu : 0);
  const AllocatorStats stats = device.Memory();
  held.other = std::max<int64_t>(0, allocated - on_device);
  held.allocated = allocated;
  held.peak_allocated = stats.peak_bytes;
  held.reserved = stats.reserved_bytes;
  return held;
}

job::MemoryByKind MemoryMeter::Measure() const {
  return AllKinds(strategy_.Held(), device_.Memory().allocated_bytes, device_);
}

void MemoryMeter::Sample(int64_t step, job::Phase phase) {
  if (!Samples(step)) return;
  const job::MemoryByKind memory = Measure();
  for (const job::MemoryKind& kind : job::kMemoryKinds)
    reporter_.Record(kind.metric, step, static_cast<double>(memory.*kind.bytes), phase);
}

void MemoryMeter::ReportPeak(int64_t step) {
  const AllocatorStats stats = device_.Memory();
  reporter_.Record(job::Metric::kMemoryPeakAllocated, step, static_cast<double>(stats.peak_bytes));
  reporter_.Record(job::Metric::kMemoryReserved, step, static_cast<double>(stats.reserved_bytes));
}

}  // namespace trainctl::train
