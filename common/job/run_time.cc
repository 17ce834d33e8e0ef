#include "common/job/run_time.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "common/base/size.h"
#include "common/job/check_job.h"
#include "common/job/device_rates.h"
#include "common/job/lora_targets.h"
#include "common/job/memory_estimate.h"
#include "common/job/memory_units.h"
#include "common/job/run_plan.h"

namespace trainctl::job {
namespace {

constexpr double kStartSeconds = 10;
constexpr double kLoadBytes = 2e9;          // a second
constexpr double kHostAdamParameters = 6e9;  // a second, all ranks of a host
constexpr double kForwardShare = 1.0 / 3;   // of a training step
constexpr double kReferenceFactor = 3;      // bytes that reference kernels move for each that fused ones do
constexpr double kAttentionFactor = 5;      // attention's kernels reach a fifth of a matrix product's rate
constexpr double kExposedShare = 0.5;       // of an all-reduce under the backward: both slow each other down
constexpr double kUnpackBytes = 2.6;        // a 4-bit parameter: read, and written in bf16

struct Counts {
  double block_matrices = 0;
  double head = 0;
  double adapters = 0;
  double trainable = 0;
  double all = 0;
  double quantized = 0;
};

Counts CountsOf(const JobSpec& job, const ModelShape& m) {
  const ModelUnits units = UnitsOf(job, m);
  const auto sum = [&](auto member) {
    return static_cast<double>(SumOverUnits(units, [&](const UnitElements& unit) { return unit.*member; }));
  };
  Counts counts;
  counts.block_matrices = static_cast<double>(m.layers * (m.BlockParameters() - 2 * m.hidden));
  counts.head = static_cast<double>(m.vocab * m.hidden);
  counts.trainable = sum(&UnitElements::trainable);
  counts.quantized = sum(&UnitElements::quantized);
  counts.all = counts.trainable + counts.quantized + sum(&UnitElements::frozen);
  counts.adapters = job.lora ? counts.trainable : 0;
  return counts;
}

double ComputeBytes(const JobSpec& job) { return job.precision == Precision::k32True ? 4 : 2; }
double GradBytes(const JobSpec& job) { return job.precision == Precision::kBf16True ? 2 : 4; }

// Mean positions of a row as micro batches pad it.
double RowPositions(const Inspection& inspection, int64_t micro, double longest) {
  if (inspection.rows <= 0 || inspection.total_tokens <= 0) return longest;
  const double mean = std::min(longest, static_cast<double>(inspection.total_tokens) / static_cast<double>(inspection.rows));
  return mean + (longest - mean) * (1 - 1 / std::sqrt(static_cast<double>(micro)));
}

// The share of blocks that are computed again.
double CheckpointedShare(const JobSpec& job) {
  return job.activation_checkpointing > 0 ? 1.0 / static_cast<double>(job.activation_checkpointing) : 0;
}

double FlopsPerPosition(const JobSpec& job, const ModelShape& m, const Counts& n, double length) {
  const double attention = static_cast<double>(m.layers * m.heads * m.head_dim) * length;
  const double forward_of_blocks = 2 * n.block_matrices + 2 * attention;
  const double matrices = (job.lora ? 4 : 6) * (n.block_matrices + n.head) + 6 * n.adapters;
  const bool is_padded = m.head_dim % 8 != 0;  // copied before and after its kernels
  return matrices + kAttentionFactor * (is_padded ? 2 : 1) * 6 * attention + CheckpointedShare(job) * forward_of_blocks;
}

double BytesPerPosition(const JobSpec& job, const ModelShape& m, bool is_reference) {
  const auto elements = static_cast<double>(m.layers * (30 * m.hidden + 9 * m.intermediate) + 4 * m.vocab);
  return ComputeBytes(job) * elements * (is_reference ? kReferenceFactor : 1);
}

double OptimizerBytes(const JobSpec& job) {
  const int precision = static_cast<int>(job.precision);  // 32-true, bf16-true, bf16-mixed
  constexpr double kAdamW[] = {28, 14, 30}, kSgd[] = {12, 6, 14}, k8bit[] = {18, 10, 20};
  if (job.optimizer.name == OptimizerKind::kSgd) return kSgd[precision];
  return (job.optimizer.name == OptimizerKind::kAdamW8bit ? k8bit : kAdamW)[precision];
}

double ArithmeticSeconds(const JobSpec& job, const Inspection& inspection, const Counts& n, const DeviceRates& rates, bool is_cpu,
                         double positions, double length) {
  const double flops = job.precision == Precision::k32True ? rates.fp32_flops : rates.bf16_flops;
  const bool is_reference = is_cpu || job.engine == EngineKind::kReference;
  const double bytes = positions * BytesPerPosition(job, inspection.model, is_reference) + 2 * kUnpackBytes * n.quantized;
  return positions * FlopsPerPosition(job, inspection.model, n, length) / flops + bytes / rates.memory_bytes;
}

// Of one micro step under fsdp.
double ShardTraffic(const JobSpec& job, const Counts& n, bool reduces) {
  const double world = static_cast<double>(job.devices), share = (world - 1) / world;
  const double sharded = job.lora ? n.all - n.trainable : n.all;
  const bool gathers_once = job.sharding == Sharding::kGradOp || job.fsdp_unit == FsdpUnit::kModel;
  const double gathered = (gathers_once ? 1 : 2) * ComputeBytes(job) * sharded;
  return share * (gathered + (job.lora || !reduces ? 0 : GradBytes(job) * sharded));
}

double StepSeconds(const JobSpec& job, const Inspection& inspection, const RunPlan& plan, const DeviceRates& rates, bool is_cpu,
                   bool holds_gradients) {
  const Counts n = CountsOf(job, inspection.model);
  const double length = RowPositions(inspection, plan.batch.micro, static_cast<double>(SequenceLength(job, inspection)));
  const double positions = static_cast<double>(plan.batch.micro) * length;
  const double world = static_cast<double>(job.devices);
  const bool is_fsdp = job.strategy == StrategyKind::kFsdp;
  const double arithmetic = ArithmeticSeconds(job, inspection, n, rates, is_cpu, positions, length);
  const auto with_traffic = [&](bool reduces) {
    return is_fsdp ? std::max(arithmetic, ShardTraffic(job, n, reduces) / rates.collective_bytes) : arithmetic;
  };
  const double micro_step = with_traffic(/*reduces=*/!holds_gradients);
  double last = with_traffic(/*reduces=*/true);
  const bool reduces_whole = !is_fsdp || job.lora;
  const double reduction = reduces_whole ? 2 * GradBytes(job) * n.trainable * (world - 1) / world / rates.collective_bytes : 0;
  last += kExposedShare * reduction + std::max(0.0, (1 - kExposedShare) * reduction - last);
  const double held = is_fsdp && !job.lora ? n.trainable / world : n.trainable;
  double optimizer = OptimizerBytes(job) * held / rates.memory_bytes;
  if (job.offload_optimizer) {
    optimizer = 0;
    last = std::max({last, n.trainable / kHostAdamParameters, 2 * ComputeBytes(job) * held / rates.host_copy_bytes});
  }
  return static_cast<double>(plan.batch.accumulation - 1) * micro_step + last + optimizer;
}

int64_t Evaluations(const JobSpec& job, const RunPlan& plan) {
  if (plan.split.val_rows == 0) return 0;
  const int64_t every = job.eval.every_steps.value_or(plan.total_steps);
  return plan.total_steps / every + (plan.total_steps % every == 0 ? 0 : 1);
}

TimeEstimate Whole(const JobSpec& job, const Inspection& inspection, const RunPlan& plan, std::string_view device_name,
                   double step_seconds, int64_t earlier_runs) {
  TimeEstimate estimate{.step_seconds = step_seconds, .earlier_runs = earlier_runs, .device_name = std::string(device_name)};
  estimate.training_seconds = step_seconds * static_cast<double>(plan.total_steps);
  const int64_t rows = std::min(plan.split.val_rows, job.eval.max_rows.value_or(plan.split.val_rows));
  const double row_seconds = kForwardShare * step_seconds / static_cast<double>(plan.batch.global);
  const double load = ComputeBytes(job) * CountsOf(job, inspection.model).all / kLoadBytes;
  estimate.total_seconds = kStartSeconds + load + estimate.training_seconds +
                           static_cast<double>(Evaluations(job, plan) * rows) * row_seconds;
  return estimate;
}

}  // namespace

std::optional<TimeEstimate> EstimateTime(const JobSpec& asked, const Inspection& inspection, std::string_view device_name,
                                         bool holds_gradients) {
  const std::optional<DeviceRates> rates = RatesOf(device_name);
  const base::Result<RunPlan> plan = PlanRun(asked, inspection.rows);
  if (!rates || !plan) return std::nullopt;
  const bool is_cpu = device_name.starts_with("CPU");
  const double step = StepSeconds(plan->job, inspection, *plan, *rates, is_cpu, holds_gradients);
  return Whole(plan->job, inspection, *plan, device_name, step, 0);
}

std::optional<TimeEstimate> EstimateTimeFromRuns(const JobSpec& job, const Inspection& inspection, std::string_view device_name,
                                                 double median_step_seconds, int64_t runs) {
  const base::Result<RunPlan> plan = PlanRun(job, inspection.rows);
  if (!plan) return std::nullopt;
  return Whole(plan->job, inspection, *plan, device_name, median_step_seconds, runs);
}

std::string TimeText(const TimeEstimate& estimate) {
  char step[32];
  std::snprintf(step, sizeof step, "%.3g", estimate.step_seconds);
  const std::string source = estimate.earlier_runs == 0   ? "the rates"
                             : estimate.earlier_runs == 1 ? "1 earlier run"
                                                          : std::to_string(estimate.earlier_runs) + " earlier runs";
  return base::FormatDuration(std::llround(estimate.total_seconds)) + " (" + step + " s a step), predicted from " + source +
         (estimate.earlier_runs == 0 ? " of " : " on ") + estimate.device_name;
}

}  // namespace trainctl::job
