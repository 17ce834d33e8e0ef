// How a job chooses when fsdp reduces gradients. Ranks reduce them once a step where whole
// gradients fit the memory that they may use (estimate/gradient_holding.h). A memory limit below
// that makes them reduce in each micro step: slower, and smaller. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "common/estimate/memory_estimate.h"

namespace trainctl::advice {

// For resources.gpu_memory_limit, of the job whose estimate this is: the largest number of GiB, or
// else of MiB, under which it still fits, and reduces in each micro step. nullopt: it does so
// already, or has no such choice, or would need no less.
std::optional<int64_t> LimitThatReduces(const job::MemoryEstimate& estimate);

}  // namespace trainctl::advice
