// Whether the jobs that a submitted one is to follow are there, and may yet end as they are to:
// resources.after.
#pragma once

#include <vector>

#include "common/base/result.h"
#include "common/job/job.h"
#include "common/json/problem.h"
#include "server/core/state.h"
#include "server/store/reader.h"

namespace trainctl::coordinator {

// What is wrong with them; empty: nothing. Everything that happened must be committed. kIo.
base::Result<std::vector<job::Problem>> CheckDependencies(const core::State& state,
                                                          store::Reader& reader,
                                                          const job::JobSpec& job);

}  // namespace trainctl::coordinator
