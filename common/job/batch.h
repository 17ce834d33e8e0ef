// Batch arithmetic: global = micro × devices × accumulation. Pure.
#pragma once

#include <cstdint>

#include "common/base/result.h"
#include "common/job/job.h"

namespace trainctl::job {

struct BatchPlan {
  int64_t micro = 1;         // rows of one forward on one device
  int64_t devices = 1;       //
  int64_t accumulation = 1;  // micro steps of one device per optimizer step
  int64_t global = 1;        // rows per optimizer step
};

// kInvalid where global is not divisible by micro × devices; the message names the nearest that work. micro_batch_size "auto" counts as 1.
base::Result<BatchPlan> PlanBatch(const JobSpec& job);

// Optimizer steps of the run: epochs × floor(train_rows / global), or max_steps where that is smaller.
int64_t TotalSteps(const JobSpec& job, const BatchPlan& batch, int64_t train_rows);

// Rows that go to validation and to training: floor(rows × fraction) to validation, after max_rows.
struct Split {
  int64_t train_rows = 0;
  int64_t val_rows = 0;
};
Split SplitRows(const DataSpec& data, int64_t rows);

// The learning rate at step (0-based) of total: linear warm-up, then the schedule, times lr_scaling (linear: global / (micro × accumulation)).
// Warm-up step k of w has lr·(k + 1)/w … as LitGPT: step k < w → lr·k/w with k from 1. After: cosine to 0, linear to 0, or constant.
double LearningRate(const JobSpec& job, const BatchPlan& batch, int64_t step, int64_t total_steps);

}  // namespace trainctl::job
