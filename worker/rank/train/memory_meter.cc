#include "worker/rank/train/memory_meter.h"

#include <algorithm>

#include "common/rank/memory_kind.h"

namespace trainctl::train {

int64_t OtherBytes(const strategy::HeldBytes& held, int64_t allocated, at::Device device) {
  // On a CPU slot the CPU optimizer's state is in the same memory.
  const int64_t on_device =
      held.params + held.grads + held.optimizer + (device.is_cpu() ? held.optimizer_cpu : 0);
  return std::max<int64_t>(0, allocated - on_device);
}

job::MemoryByKind MemoryMeter::Measure() const {
  const strategy::HeldBytes held = strategy_.Held();
  const AllocatorStats stats = device_.Memory();
  return {.params = held.params,
          .grads = held.grads,
          .optimizer = held.optimizer,
          .optimizer_cpu = held.optimizer_cpu,
          .other = OtherBytes(held, stats.allocated_bytes, device_.device()),
          .allocated = stats.allocated_bytes,
          .peak_allocated = stats.peak_bytes,
          .reserved = stats.reserved_bytes};
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
