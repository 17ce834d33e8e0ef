// What a rank holds from step to step, and what fsdp gathers for a while, in bytes. Inside this
// room only. Pure.
#pragma once

#include <cstdint>

#include "common/estimate/memory_setting.h"

namespace trainctl::job {

// Masters, compute copies, frozen weights and 4-bit codes, as this rank holds them between steps.
int64_t HeldParameterBytes(const MemorySetting& setting);

// Moments on the device, and in host memory with the masters.
int64_t OptimizerBytes(const MemorySetting& setting);
int64_t HostOptimizerBytes(const MemorySetting& setting);

// A unit's whole weights of the compute dtype while they are gathered; 0 where nothing is sharded.
int64_t GatheredBytes(const MemorySetting& setting, const UnitElements& unit);
// All units'.
int64_t AllGatheredBytes(const MemorySetting& setting);

}  // namespace trainctl::job
