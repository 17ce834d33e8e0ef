// When fsdp reduces gradients in a step of several micro steps. In each micro step: a rank holds
// the sum of its shard only. Or once a step: it holds whole gradients over the micro steps, which
// moves less and needs more memory. Pure, thread-safe.
#pragma once

#include <cstdint>

#include "common/estimate/inspection.h"
#include "common/estimate/memory_estimate.h"
#include "common/job/job.h"
#include "common/rank/rank_plan.h"

namespace trainctl::job {

// The estimate of the way that ranks go on devices of this size, or of the job's own limit where
// that is smaller. They hold whole gradients where that needs no more than to reduce in each micro
// step, or leaves the margin of fit.h. So a job that fits is never made one that does not.
// device_bytes 0, not known: the way that needs less, by which it is told whether a job fits, and
// which micro batch does.
MemoryEstimate EstimateMemoryOn(const JobSpec& job, const Inspection& inspection, DeviceKind device,
                                int64_t device_bytes);

// Whether they hold whole gradients there.
bool HoldsGradients(const JobSpec& job, const Inspection& inspection, DeviceKind device,
                    int64_t device_bytes);

}  // namespace trainctl::job
