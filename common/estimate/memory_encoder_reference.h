// The working buffers of the reference kernels in a unit before the decoder's embedding. Inside
// this room only. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/estimate/memory_setting.h"

namespace trainctl::job {

// The most that the unit's backward holds beyond what it and those before it saved. The gradients
// of its output and of the picture's features are not counted.
int64_t ReferenceUnitWork(const MemorySetting& setting, size_t unit);

// The most that its forward holds where nothing is saved, with its input. The picture's features
// are not counted.
int64_t ReferenceUnitForward(const MemorySetting& setting, size_t unit);

}  // namespace trainctl::job
