#include "common/rank/metric.h"

namespace trainctl::job {
namespace {

// Throughput and utilization are better when higher; what is neither (lr, temperature of an idle
// card) counts as lower is better.
constexpr MetricInfo kMetrics[] = {
    {"loss", "", "training loss", true, false},
    {"val_loss", "", "validation loss", true, false},
    {"lr", "", "learning rate", true, false},
    {"grad_norm", "", "gradient norm", true, false},
    {"step_seconds", "s", "seconds per step", true, false},
    {"tokens_per_second", "tokens/s", "tokens per second", false, false},
    {"trained_tokens_per_second", "tokens/s", "trained tokens per second", false, false},
    {"samples_per_second", "samples/s", "samples per second", false, false},
    {"memory_params_bytes", "bytes", "memory: parameters", true, true},
    {"memory_grads_bytes", "bytes", "memory: gradients", true, true},
    {"memory_optimizer_bytes", "bytes", "memory: optimizer", true, true},
    {"memory_optimizer_cpu_bytes", "bytes", "memory: optimizer (host)", true, true},
    {"memory_other_bytes", "bytes", "memory: other", true, true},
    {"memory_allocated_bytes", "bytes", "memory: allocated", true, true},
    {"memory_peak_allocated_bytes", "bytes", "memory: peak allocated", true, true},
    {"memory_reserved_bytes", "bytes", "memory: reserved", true, true},
    {"gpu_utilization_percent", "%", "GPU utilization", false, true},
    {"gpu_memory_used_bytes", "bytes", "GPU memory used", true, true},
    {"gpu_power_watts", "W", "GPU power", true, true},
    {"gpu_temperature_celsius", "°C", "GPU temperature", true, true},
    {"gpu_energy_joules", "J", "GPU energy", true, true},
    {"host_cpu_percent", "%", "host CPU", true, true},
    {"host_memory_used_bytes", "bytes", "host memory used", true, true},
    {"rank_cpu_percent", "%", "CPU of the rank", true, true},
    {"rank_memory_used_bytes", "bytes", "host memory of the rank", true, true},
    {"time_seconds", "s", "time", true, false},
    {"trial_seconds", "s", "time of the trial", true, false},
    {"load_seconds", "s", "time to load", true, true},
    {"evaluation_seconds", "s", "time in evaluation", true, false},
    {"checkpoint_seconds", "s", "time in checkpoints", true, false},
    {"save_seconds", "s", "time to save", true, false},
};

}  // namespace

std::span<const MetricInfo> Metrics() { return kMetrics; }

const MetricInfo* FindMetric(std::string_view name) {
  for (const MetricInfo& metric : kMetrics) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

}  // namespace trainctl::job
