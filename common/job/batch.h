// Batch arithmetic: global = micro × devices × accumulation; steps and learning rate as LitGPT
// counts them. Pure, thread-safe.
#pragma once

#include <cstdint>

#include "common/base/result.h"
#include "common/job/job.h"

namespace trainctl::job {

struct BatchPlan {
  int64_t micro = 1;         // rows of one forward on one device; sequences, with train.packing
  int64_t devices = 1;       //
  int64_t accumulation = 1;  // micro steps of one device per optimizer step
  int64_t global = 1;        // rows or sequences per optimizer step
};

// kInvalid: global is not divisible by micro × devices, or a number is below 1. The message names
// the nearest that work. micro_batch_size "auto" counts as 1.
base::Result<BatchPlan> PlanBatch(const JobSpec& job);

// What a batch is made of, to people: "row", or "packed sequence".
const char* SequenceWord(const JobSpec& job);

// Optimizer steps of one epoch: floor(sequences / global); what is left over is not trained on in
// that epoch. sequences: training rows, or what train.packing makes of them.
int64_t StepsPerEpoch(const BatchPlan& batch, int64_t sequences);

// Optimizer steps of the run: epochs × StepsPerEpoch, or max_steps where that is smaller.
int64_t TotalSteps(const JobSpec& job, const BatchPlan& batch, int64_t sequences);

// Rows that go to validation and to training: floor(rows × fraction) to validation, after max_rows.
// The product is made in double precision and the rest goes to training, as torch's random_split
// does for LitGPT: 2,000 × 0.05 → 100, but 100 × 0.29 → 28 (28.999…96).
struct Split {
  int64_t train_rows = 0;
  int64_t val_rows = 0;
};
Split SplitRows(const DataSpec& data, int64_t rows);

// lr_warmup_steps, or ceil(total × lr_warmup_fraction) as transformers has it; may exceed the run.
int64_t WarmupSteps(const TrainSpec& train, int64_t total_steps);

// The learning rate of optimizer step `step` (0-based) of total. w is the number of warm-up steps,
// and peak = lr. Under lr_scaling linear, peak is lr × devices, which is global / (micro ×
// accumulation).
//   step < w   peak · (step + 1) / w, so the first step already learns and step w − 1 has the peak
//   after      with t = step − w of n = total − w: cosine peak · (1 + cos(π t / n)) / 2 (torch's
//              CosineAnnealingLR with T_max = n), linear peak · (1 − t / n), or constant
// Step w has the peak again. Zero would be reached at `total`, which is no step.
double LearningRate(const JobSpec& job, const BatchPlan& batch, int64_t step, int64_t total_steps);

}  // namespace trainctl::job
