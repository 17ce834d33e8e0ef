// What an exception that ended a rank's run means for the job.
#pragma once

#include <cstdint>
#include <exception>

#include "common/rank/rank_messages.h"
#include "worker/rank/process/device.h"
#include "worker/rank/train/run_state.h"

namespace trainctl::train {

struct FailedRun {
  int64_t rank = 0;
  const RankDevice* device = nullptr;  // none: it failed before there was one
  const RunState& state;
};

// Out of memory on the device or on the host, a collective that failed, a fault of the GPU. Else
// kFailed with what the exception says.
job::RankOutcome OutcomeOf(const std::exception_ptr& error, const FailedRun& run);

}  // namespace trainctl::train
