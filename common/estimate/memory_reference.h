// The working buffers of the reference kernels (worker/rank/ops: layers, aten_kernels, matmul,
// attention), which CPU slots and "engine": "reference" run. Inside this room only. Pure.
#pragma once

#include <cstdint>

#include "common/estimate/memory_setting.h"

namespace trainctl::job {

// The most that a block's backward holds beyond ActivationsAtBlock.
int64_t ReferenceBlockWork(const MemorySetting& setting);

// The most that the head's backward holds beyond AllActivations.
int64_t ReferenceHeadWork(const MemorySetting& setting);

// The most that a forward holds that saves nothing: of a block, and of the head with its loss.
int64_t ReferenceBlockForward(const MemorySetting& setting);
int64_t ReferenceHeadForward(const MemorySetting& setting);

// While the embedding's gradient is made.
int64_t ReferenceEmbeddingWork(const MemorySetting& setting);

// While a unit's gradient is measured, and while it is applied, on a CPU slot.
int64_t ReferenceNormWork(const MemorySetting& setting, const UnitElements& unit);
int64_t ReferenceUpdateWork(const MemorySetting& setting, const UnitElements& unit);

}  // namespace trainctl::job
