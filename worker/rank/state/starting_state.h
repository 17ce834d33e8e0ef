// What a rank's training starts with: the model folder's weights, those of the seed, or the state
// of a checkpoint. How far loading is goes to the reporter. All of it is collective, and throws
// RunFailure.
#pragma once

#include <optional>
#include <string>

#include "common/model/model_shape.h"
#include "worker/rank/files/checkpoint_reader.h"
#include "worker/rank/ops/parameters.h"
#include "worker/rank/process/rank_context.h"
#include "worker/rank/state/checkpointer.h"
#include "worker/rank/strategy/strategy.h"

namespace trainctl::train {

// The checkpoint that this attempt goes on from, opened on this host; none: training starts at the
// first step. A damaged one of the job's own folder is set aside, and the one before it serves. If
// the job writes checkpoints, their folder has been tried. Leftovers of interrupted writes are
// gone.
std::optional<files::CheckpointState> FindStart(const RankContext& rank);

// All weights as they are before the first step: the frozen ones of a run that goes on from a
// checkpoint too, which holds none of them. adapter: a folder of peft; "": adapters are of the
// seed.
void LoadWeights(const RankContext& rank, const job::ModelShape& shape,
                 const ops::ParameterTable& table, const std::string& adapter,
                 strategy::Strategy& strategy);

// The checkpoint's state into the strategy, and the moment that it is of. If its bytes are damaged
// it is set aside, and `start` is the one before it. data_digest: of the data that this run trains
// on.
TrainingMoment Restore(const RankContext& rank, files::CheckpointState& start, int64_t total_steps,
                       const std::string& data_digest, strategy::Strategy& strategy);

}  // namespace trainctl::train
