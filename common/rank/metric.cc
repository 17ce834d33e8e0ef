#include "common/rank/metric.h"

#include <algorithm>
#include <array>

namespace trainctl::job {
namespace {

using enum Metric;
using enum Scope;
using enum Reduction;
using enum Better;

constexpr MetricSection kTime = MetricSection::kTime, kMemory = MetricSection::kMemory,
                        kDevice = MetricSection::kDevice, kLosses = MetricSection::kLoss,
                        kProfile = MetricSection::kProfile;

constexpr MetricInfo Drawn(const Chart& chart, MetricInfo metric) {
  metric.chart = chart;
  return metric;
}

constexpr MetricInfo OfTrial(MetricInfo metric) {
  metric.is_of_trial = true;
  return metric;
}

// Throughput is a total over the time of the loop: a mean of the steps' rates would overstate it.
constexpr MetricInfo kMetrics[] = {
    {kTimeSeconds, "time_seconds", "s", "time", kGang, kTotal, kTime, kLower, kStepSeconds},
    OfTrial(
        {kTrialSeconds, "trial_seconds", "s", "time of the trial", kGang, kLatest, kTime, kLower}),
    {kLoadSeconds, "load_seconds", "s", "time to load", kRank, kLatest, kTime, kLower},
    {kEvaluationSeconds, "evaluation_seconds", "s", "time in evaluation", kGang, kTotal, kTime,
     kLower},
    {kCheckpointSeconds, "checkpoint_seconds", "s", "time in checkpoints", kGang, kTotal, kTime,
     kLower},
    {kSaveSeconds, "save_seconds", "s", "time to save", kGang, kLatest, kTime, kLower},
    {kDataWaitSeconds, "data_wait_seconds", "s", "time waiting for data", kGang, kTotal, kTime,
     kLower},
    Drawn({4, "Seconds per step"},
          {kStepSeconds, "step_seconds", "s", "seconds per step", kGang, kMedian, kTime, kLower}),
    {kSamples, "samples", "", "samples trained", kGang, kTotal, kTime},
    {kSkippedRows, "skipped_rows", "", "rows left out", kGang, kLatest, kTime},
    {kSamplesPerSecond, "samples_per_second", "samples/s", "samples per second", kGang, kRate,
     kTime, kHigher, kSamples},
    Drawn({3, "Tokens per second"}, {kTokensPerSecond, "tokens_per_second", "tokens/s",
                                     "tokens per second", kGang, kRate, kTime, kHigher, kTokens}),
    {kTrainedTokensPerSecond, "trained_tokens_per_second", "tokens/s", "trained tokens per second",
     kGang, kRate, kTime, kHigher, kTrainedTokens},

    Drawn({8, "Peak memory of the ranks", Phase::kAfterOptimizerStep},
          {kMemoryPeakAllocated, "memory_peak_allocated_bytes", "bytes", "memory: peak allocated",
           kRank, kWorstRank, kMemory, kLower}),
    {kMemoryReserved, "memory_reserved_bytes", "bytes", "memory: reserved", kRank, kWorstRank,
     kMemory, kLower},
    {kMemoryParams, "memory_params_bytes", "bytes", "memory: parameters", kRank, kLargestPhase,
     kMemory, kLower},
    {kMemoryGrads, "memory_grads_bytes", "bytes", "memory: gradients", kRank, kLargestPhase,
     kMemory, kLower},
    {kMemoryOptimizer, "memory_optimizer_bytes", "bytes", "memory: optimizer", kRank, kLargestPhase,
     kMemory, kLower},
    {kMemoryOptimizerCpu, "memory_optimizer_cpu_bytes", "bytes", "memory: optimizer (host)", kRank,
     kLargestPhaseIfAny, kMemory, kLower},
    {kMemoryOther, "memory_other_bytes", "bytes", "memory: other", kRank, kLargestPhase, kMemory,
     kLower},

    Drawn({10, "GPU utilization"}, {kGpuUtilization, "gpu_utilization_percent", "%",
                                    "GPU utilization", kRank, kMean, kDevice, kHigher}),
    Drawn({11, "GPU power"},
          {kGpuPower, "gpu_power_watts", "W", "GPU power", kRank, kMean, kDevice, kLower}),
    {kGpuEnergy, "gpu_energy_joules", "J", "GPU energy", kRank, kCounter, kDevice, kLower},
    {kHostCpu, "host_cpu_percent", "%", "host CPU", kRank, kMean, kDevice},

    Drawn({1, "Loss"}, {kLoss, "loss", "", "training loss", kGang, kLatest, kLosses, kLower}),
    Drawn({1, "Loss"},
          {kValLoss, "val_loss", "", "validation loss", kGang, kLatest, kLosses, kLower}),

    // Of profiled steps alone: the kinds (step_kind.h) sum up to the step.
    {kProfileStep, "profile_step_seconds", "s", "profiled step", kRank, kMean, kProfile},
    {kProfileMatmul, "profile_matmul_seconds", "s", "matrix products", kRank, kMean, kProfile},
    {kProfileAttention, "profile_attention_seconds", "s", "attention", kRank, kMean, kProfile},
    {kProfileOptimizer, "profile_optimizer_seconds", "s", "optimizer", kRank, kMean, kProfile},
    {kProfileOther, "profile_other_seconds", "s", "other kernels", kRank, kMean, kProfile},
    {kProfileCommunication, "profile_communication_seconds", "s", "exposed communication", kRank,
     kMean, kProfile},
    {kProfileCopies, "profile_copies_seconds", "s", "copies", kRank, kMean, kProfile},
    {kProfileData, "profile_data_seconds", "s", "waiting for data", kRank, kMean, kProfile},
    {kProfileHost, "profile_host_seconds", "s", "host gaps", kRank, kMean, kProfile},

    Drawn({2, "Learning rate"}, {kLr, "lr", "", "learning rate", kGang, kLatest}),
    Drawn({6, "Gradient norm"}, {kGradNorm, "grad_norm", "", "gradient norm", kGang, kLatest}),
    {kTokens, "tokens", "", "tokens", kGang, kTotal},
    {kTrainedTokens, "trained_tokens", "", "trained tokens", kGang, kTotal},
    Drawn({7, "Memory of the ranks after the forward pass"},
          {kMemoryAllocated, "memory_allocated_bytes", "bytes", "memory: allocated", kRank,
           kWorstRank}),
    Drawn({9, "GPU memory used"},
          {kGpuMemoryUsed, "gpu_memory_used_bytes", "bytes", "GPU memory used", kRank, kWorstRank}),
    {kGpuTemperature, "gpu_temperature_celsius", "°C", "GPU temperature", kRank, kMean},
    {kHostMemoryUsed, "host_memory_used_bytes", "bytes", "host memory used", kRank, kWorstRank},
    Drawn({12, "CPU of the ranks"},
          {kRankCpu, "rank_cpu_percent", "%", "CPU of the rank", kRank, kMean}),
    Drawn({13, "Host memory of the ranks"}, {kRankMemoryUsed, "rank_memory_used_bytes", "bytes",
                                             "host memory of the rank", kRank, kWorstRank}),
    // Of ranks of a gang: a step without the waits for the others and for data. None with
    // train.group_by_length.
    Drawn({5, "Own work of the ranks in a step"},
          {kWorkSeconds, "work_seconds", "s", "the rank's own work per step", kRank, kMean}),
};

constexpr bool IsInOrder() {
  for (size_t i = 0; i < std::size(kMetrics); ++i) {
    if (kMetrics[i].id != static_cast<Metric>(i)) return false;
  }
  return std::size(kMetrics) == static_cast<size_t>(kWorkSeconds) + 1;
}
static_assert(IsInOrder(), "a row for each Metric, in their order");

constexpr bool ChartsAgree() {
  for (const MetricInfo& one : kMetrics) {
    for (const MetricInfo& other : kMetrics) {
      const bool is_same = one.chart.place == other.chart.place;
      if (is_same != (one.chart.title == other.chart.title)) return false;
    }
  }
  return true;
}
static_assert(ChartsAgree(), "each chart has one place and one title");

}  // namespace

std::span<const MetricInfo> Metrics() { return kMetrics; }

const MetricInfo& Info(Metric metric) { return kMetrics[static_cast<size_t>(metric)]; }

const MetricInfo* FindMetric(std::string_view name) {
  const auto* found = std::ranges::find(kMetrics, name, &MetricInfo::name);
  return found == std::end(kMetrics) ? nullptr : found;
}

std::string_view Name(Metric metric) { return Info(metric).name; }

std::string_view Name(MetricSection section) {
  switch (section) {
    case MetricSection::kNone: return "";
    case MetricSection::kTime: return "time";
    case MetricSection::kMemory: return "memory";
    case MetricSection::kDevice: return "device";
    case MetricSection::kLoss: return "loss";
    case MetricSection::kProfile: return "profile";
  }
  return "";
}

}  // namespace trainctl::job
