#include "worker/rank/train/memory_meter.h"

#include <algorithm>
#include <string>

namespace trainctl::train {

job::MemoryByKind MemoryMeter::Measure() const {
  const strategy::HeldBytes held = strategy_.Held();
  const AllocatorStats stats = device_.Memory();
  // On a CPU slot the CPU optimizer's state is in the same memory.
  const int64_t on_device = held.params + held.grads + held.optimizer +
                            (device_.device().is_cpu() ? held.optimizer_cpu : 0);
  return {.params = held.params,
          .grads = held.grads,
          .optimizer = held.optimizer,
          .optimizer_cpu = held.optimizer_cpu,
          .other = std::max<int64_t>(0, stats.allocated_bytes - on_device),
          .allocated = stats.allocated_bytes,
          .peak_allocated = stats.peak_bytes,
          .reserved = stats.reserved_bytes};
}

void MemoryMeter::Sample(int64_t step, job::Phase phase) {
  last_ = Measure();
  if (!Samples(step)) return;
  const std::string name(job::Name(phase));
  const auto point = [&](const char* metric, int64_t bytes) {
    reporter_.Metric(metric, step, static_cast<double>(bytes), false, name);
  };
  point("memory_params_bytes", last_.params);
  point("memory_grads_bytes", last_.grads);
  point("memory_optimizer_bytes", last_.optimizer);
  point("memory_optimizer_cpu_bytes", last_.optimizer_cpu);
  point("memory_other_bytes", last_.other);
  point("memory_allocated_bytes", last_.allocated);
  point("memory_peak_allocated_bytes", last_.peak_allocated);
  point("memory_reserved_bytes", last_.reserved);
}

void MemoryMeter::ReportPeak(int64_t step) {
  const AllocatorStats stats = device_.Memory();
  reporter_.Metric("memory_peak_allocated_bytes", step, static_cast<double>(stats.peak_bytes),
                   false);
  reporter_.Metric("memory_reserved_bytes", step, static_cast<double>(stats.reserved_bytes), false);
}

}  // namespace trainctl::train
