#include "common/job/batch.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

namespace trainctl::job {
namespace {

std::string NearestMultiples(int64_t global, int64_t unit) {
  const int64_t below = global / unit * unit;
  const std::string above = std::to_string(below + unit);
  if (below == 0) return "the nearest that works is " + above;
  return "the nearest that work are " + std::to_string(below) + " or " + above;
}

// From 1 at the first of `steps` steps down towards 0, which the step after the last would have.
double Decay(LrSchedule schedule, int64_t step, int64_t steps) {
  const double progress = static_cast<double>(step) / static_cast<double>(steps);
  switch (schedule) {
    case LrSchedule::kCosine: return 0.5 * (1 + std::cos(std::numbers::pi * progress));
    case LrSchedule::kLinear: return 1 - progress;
    case LrSchedule::kConstant: return 1;
  }
  CHECK(false) << "schedule " << static_cast<int>(schedule);
  return 0;
}

}  // namespace

base::Result<BatchPlan> PlanBatch(const JobSpec& job) {
  BatchPlan plan;
  plan.micro = job.train.micro_batch_size.value_or(1);
  plan.devices = job.devices;
  const int64_t unit = plan.micro * plan.devices;
  if (plan.micro < 1 || plan.devices < 1 || job.train.accumulate_grad_batches.value_or(1) < 1 ||
      job.train.global_batch_size.value_or(1) < 1) {
    return base::Error{
        base::Code::kInvalid,
        "micro_batch_size, devices, accumulate_grad_batches and global_batch_size are positive"};
  }
  if (!job.train.global_batch_size) {
    plan.accumulation = job.train.accumulate_grad_batches.value_or(1);
    plan.global = unit * plan.accumulation;
    return plan;
  }
  plan.global = *job.train.global_batch_size;
  plan.accumulation = plan.global / unit;
  if (plan.global % unit == 0) return plan;
  return base::Error{base::Code::kInvalid,
                     std::to_string(plan.micro) + " × " + std::to_string(plan.devices) + " = " +
                         std::to_string(unit) + " does not divide global_batch_size " +
                         std::to_string(plan.global) + ": " + NearestMultiples(plan.global, unit)};
}

Split SplitRows(const DataSpec& data, int64_t rows) {
  const int64_t used = std::min(rows, data.max_rows.value_or(rows));
  const auto validation =
      static_cast<int64_t>(std::floor(static_cast<double>(used) * data.val_split_fraction));
  return {.train_rows = used - validation, .val_rows = validation};
}

const char* SequenceWord(const JobSpec& job) {
  return job.train.packing ? "packed sequence" : "row";
}

int64_t StepsPerEpoch(const BatchPlan& batch, int64_t sequences) {
  return sequences / batch.global;
}

int64_t TotalSteps(const JobSpec& job, const BatchPlan& batch, int64_t sequences) {
  const int64_t steps = job.train.epochs * StepsPerEpoch(batch, sequences);
  return std::min(steps, job.train.max_steps.value_or(steps));
}

int64_t WarmupSteps(const TrainSpec& train, int64_t total_steps) {
  if (!train.lr_warmup_fraction) return train.lr_warmup_steps.value_or(0);
  return static_cast<int64_t>(
      std::ceil(static_cast<double>(total_steps) * *train.lr_warmup_fraction));
}

double LearningRate(const JobSpec& job, const BatchPlan& batch, int64_t step, int64_t total_steps) {
  const double scale =
      job.optimizer.lr_scaling == LrScaling::kLinear ? static_cast<double>(batch.devices) : 1;
  const double peak = job.optimizer.lr * scale;
  const int64_t warmup = WarmupSteps(job.train, total_steps);
  if (step < warmup) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
  const int64_t rest = total_steps - warmup;
  const int64_t since = step - warmup;
  return since >= rest && job.train.lr_schedule != LrSchedule::kConstant
             ? 0
             : peak * Decay(job.train.lr_schedule, since, rest);
}

}  // namespace trainctl::job
