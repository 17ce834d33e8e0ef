// Memory by kind, predicted before launch by a pure function of job, model and data; the same taxonomy as is measured (outcome.h).
#pragma once

#include <array>
#include <string>

#include "common/base/result.h"
#include "common/job/job.h"
#include "common/job/model_shape.h"
#include "common/job/outcome.h"
#include "common/job/rank_plan.h"

namespace trainctl::job {

struct MemoryEstimate {
  std::array<MemoryByKind, 4> phases;  // indexed by Phase; peak_allocated of the step in each
  int64_t peak_allocated = 0;          // of one rank
  int64_t sequence_length = 0;         // the T it was made for: min(max_seq_length, longest row), up to a multiple of 64
};

// The job is resolved (strategy not auto). Rows of formats without an inspection: longest_row = max_seq_length.
MemoryEstimate EstimateMemory(const JobSpec& job, const Inspection& inspection, DeviceKind device);

std::string ToJson(const MemoryEstimate& estimate);
base::Result<MemoryEstimate> MemoryEstimateFromJson(std::string_view text);

// {"model": {…}, "rows", "longest_row", "total_tokens", "data_digest"}
std::string ToJson(const Inspection& inspection);
base::Result<Inspection> InspectionFromJson(std::string_view text);

}  // namespace trainctl::job
