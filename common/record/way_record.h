// A way to run a job, of `trainctl advise` and of a job's page. Pure.
#pragma once

#include <vector>

#include "common/advice/way.h"
#include "common/rank/memory_kind.h"
#include "common/record/document.h"

namespace trainctl::record {

// {"overrides", "devices", "total_seconds", "step_seconds", "energy_joules", "time_from",
// "rates_factor", "measured_total_seconds", "measured_step_seconds", "earlier_runs", "disturbed",
// "peak_allocated_bytes", "limit_bytes", "memory"}. Times and energy are null where they are not
// known. time_from: in words (advice/way.h). earlier_runs: of the way, disturbed ones too. memory:
// estimate/memory_estimate.h.
Json WayRecord(const job::JobSpec& job, const advice::Way& way);

// Bytes of a kind after the backward. Other is all else at the peak: those on the device sum to it.
int64_t HeldBytes(const advice::Way& way, const job::MemoryKind& kind, job::DeviceKind device);
// The kinds that some of these ways have.
std::vector<job::MemoryKind> KindsOf(const std::vector<advice::Way>& ways, job::DeviceKind device);

}  // namespace trainctl::record
