// Memory of a forward that saves nothing for a backward, in bytes: of an evaluation. Inside this
// room only. Pure.
#pragma once

#include <cstdint>

#include "common/estimate/memory_setting.h"

namespace trainctl::job {

// Token ids, positions, and the rotary rows of these.
int64_t RowBytes(const MemorySetting& setting);

// While a block is at work: what training saves of it, its input and output, and the FFN's product.
// 4-bit matrices are whole meanwhile; products of bf16 on CPUs are in fp32.
int64_t BlockInForward(const MemorySetting& setting);

// A unit's whole weights and those of the one that is fetched ahead.
int64_t GatheredInForward(const MemorySetting& setting);

// Of a micro batch of validation rows, beside weights, optimizer and what is beside the model: at
// most what a step of such rows takes. The fused loss counts as much as its backward.
int64_t PeakOfValidation(const MemorySetting& setting);

}  // namespace trainctl::job
