// What a job's settings may be changed to where it trains the same, or where a liberty is given.
// Pure, thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "common/advice/way.h"
#include "common/job/job.h"

namespace trainctl::advice {

// The resolved job on so many devices: each combination of strategy, sharding, checkpointing,
// offload and what the liberties allow. Its micro batch stays.
std::vector<job::JobSpec> VariantsOf(const job::JobSpec& asked, int64_t devices,
                                     const Question& question);

}  // namespace trainctl::advice
