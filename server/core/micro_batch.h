// "micro_batch_size": "auto" after a trial that failed: pure. Internal to this room.
#pragma once

#include "common/rank/rank_plan.h"
#include "server/core/actions.h"
#include "server/core/state.h"

namespace trainctl::core {

// Returns the job with the next smaller micro batch, of which there is one. With it comes what is
// predicted of it on devices of this kind.
UpdateSpec SmallerMicroBatch(const Job& job, job::DeviceKind kind);

}  // namespace trainctl::core
