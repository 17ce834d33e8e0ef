// What a job writes to its output.dir, in bytes. Pure, thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "common/estimate/inspection.h"
#include "common/job/job.h"
#include "common/job/run_plan.h"
#include "common/json/problem.h"

namespace trainctl::job {

// A checkpoint is masters and moments of what is trained. The result is the model, or the adapters
// alone, in the type that it is saved in (SavedTypeOf).
struct OutputBytes {
  int64_t checkpoint = 0;  // 0: the job writes none
  int64_t at_once = 0;     // checkpoints: those that stay, and the one that is being written
  int64_t staying = 0;     // checkpoints that stay to the end
  int64_t result = 0;      // 0: the job saves none

  // While the last checkpoint, or the result, is being written.
  int64_t most() const { return std::max(checkpoint * at_once, checkpoint * staying + result); }
};

// A job that goes on in its own folder finds the checkpoints that it keeps there already.
OutputBytes EstimateOutput(const RunPlan& plan, const Inspection& inspection);

// Why the disk of output.dir has no room for what the job writes. No problem where nothing is known
// of the disk.
std::optional<Problem> CheckOutputRoom(const RunPlan& plan, const Inspection& inspection);

}  // namespace trainctl::job
