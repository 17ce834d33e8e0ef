// What a run leaves in output.dir at its end.
#pragma once

#include "common/rank/rank_plan.h"
#include "worker/rank/ops/parameters.h"
#include "worker/rank/process/commands.h"
#include "worker/rank/process/rank_context.h"
#include "worker/rank/strategy/strategy.h"

namespace trainctl::train {

// The job saves something at its end.
bool SavesResult(const job::JobSpec& job);

// Before the training: whether this rank may write what it is to keep in output.dir. Rank 0 takes
// the folder for this job. Throws RunFailure.
void CheckOutput(const job::RankPlan& plan);

// By output.save: the adapter alone, or the model, with adapters merged in. Rank 0 writes, and
// reports what. Where its disk is full it waits for room (room_wait.h) and writes all anew.
// Collective. Throws RunFailure.
void SaveResult(const RankContext& rank, const ops::ParameterTable& table,
                strategy::Strategy& strategy, const Commands& commands);

}  // namespace trainctl::train
