// Metric points and the table of their names. The name is the key in `compare`, `metrics`, /metrics
// and every export.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/base/clock.h"

namespace trainctl::job {

struct MetricPoint {
  std::string name;
  int64_t step = 0;             // optimizer step, from 0
  std::optional<int64_t> rank;  // null: of the whole gang
  std::string phase;            // of memory points: a Phase's name; else empty
  double value = 0;
  base::WallMicros time = 0;
};

struct MetricInfo {
  std::string_view name;
  std::string_view unit;   // "", "s", "tokens/s", "bytes", "%", "W", "J", "°C"
  std::string_view label;  // for people
  bool lower_is_better = true;
  bool per_rank = false;
};

// Every metric there is: loss, val_loss, lr, grad_norm, step_seconds, tokens_per_second,
// trained_tokens_per_second, samples_per_second,
// memory_{params,grads,optimizer,optimizer_cpu,other,allocated,peak_allocated,reserved}_bytes,
// gpu_{utilization_percent,memory_used_bytes,power_watts,temperature_celsius,energy_joules},
// host_{cpu_percent,memory_used_bytes}, rank_{cpu_percent,memory_used_bytes}; once a run (step =
// last): time_seconds, load_seconds, evaluation_seconds, save_seconds; and after each checkpoint
// checkpoint_seconds, what steps have waited for all checkpoints so far.
std::span<const MetricInfo> Metrics();
const MetricInfo* FindMetric(std::string_view name);

}  // namespace trainctl::job
