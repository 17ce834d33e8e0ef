// The moments of a step's backward at which a rank may hold most. Inside this room only. Pure.
#pragma once

#include <cstdint>

#include "common/estimate/memory_setting.h"

namespace trainctl::job {

// The largest sum, over the moments, of gradients, activations, working buffers and gathered
// weights: of all that is not held from step to step.
int64_t PeakOfStep(const MemorySetting& setting);

// Gradients of the micro steps before the last one, as its forward begins.
int64_t GradsBeforeForward(const MemorySetting& setting);

// Gradients whose storage is not given back yet as the last backward of a step ends.
int64_t GradsAfterBackward(const MemorySetting& setting);

}  // namespace trainctl::job
