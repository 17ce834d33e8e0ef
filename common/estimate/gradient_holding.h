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

// The estimate of the way that ranks go on devices of this size. The job's own limit counts instead
// if it is smaller. Ranks hold whole gradients if that needs no more than to reduce in each micro
// step. They hold them too if that leaves the margin of fit.h. So a job that fits is never made one
// that does not.
//
// device_bytes 0: the size is not known, and the way is the one that needs less. It tells whether a
// job fits, and which micro batch does.
MemoryEstimate EstimateMemoryOn(const JobSpec& job, const Inspection& inspection, DeviceKind device,
                                int64_t device_bytes);

// Whether they hold whole gradients there.
bool HoldsGradients(const JobSpec& job, const Inspection& inspection, DeviceKind device,
                    int64_t device_bytes);

}  // namespace trainctl::job
