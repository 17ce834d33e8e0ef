// A checkpoint's state back into a strategy of any kind and world size.
#pragma once

#include "common/base/result.h"
#include "worker/rank/files/checkpoint_reader.h"
#include "worker/rank/state/tensor_piece.h"
#include "worker/rank/strategy/strategy.h"

namespace trainctl::train {

// Fills every slice of strategy.State() and calls FinishLoading. Some gigabytes at a time: their
// digests are checked on a few threads, then what belongs on a GPU is read ahead (read_ahead.h).
// Errors: those of files::CheckpointState; kInvalid also where a state cannot be converted (8-bit
// codes against fp32 values).
base::Status RestoreState(files::CheckpointState& checkpoint, strategy::Strategy& strategy,
                          const ByteProgress& progress);

}  // namespace trainctl::train
