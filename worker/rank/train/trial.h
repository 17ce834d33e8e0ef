// Proves "micro_batch_size": "auto" before weights are loaded. It runs one optimizer step of the
// real thing (strategy, optimizer, precision, kernels, collectives) on a worst case. Nothing of it
// is left behind.
#pragma once

#include "common/job/batch.h"
#include "worker/rank/data/dataset.h"
#include "worker/rank/model/model.h"
#include "worker/rank/process/commands.h"
#include "worker/rank/process/device.h"
#include "worker/rank/process/rank_context.h"
#include "worker/rank/train/run_state.h"

namespace trainctl::train {

struct TrialParts {
  const job::BatchPlan& batch;
  const data::Dataset& dataset;
  int64_t picture_side = 0;  // of a model of pictures
  const model::Model& model;
  const RankDevice& device;
  const Commands& commands;
  RunState& state;
};

// Every row is the data's longest, and micro steps accumulate where the job's do. Says the phase
// "trial" once the parameters and the optimizer's state have their memory, which no micro batch
// changes. Returns its seconds, and says the phase "loading", when all ranks have passed.
// Collective. Throws what LibTorch and the communicator throw: c10::OutOfMemoryError where the
// micro batch does not fit.
double TryMicroBatch(const RankContext& rank, const TrialParts& parts);

}  // namespace trainctl::train
