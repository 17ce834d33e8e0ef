// Whoever waits is told why, and it is so: each text is held against the rows and words of workers
// and jobs, not against what made it. A text of a kind that is not known here fails.
#pragma once

#include "server/core/state.h"

namespace trainctl::core {

// Of all jobs that wait.
void ReasonsAreTrue(const State& state, const Now& now);

}  // namespace trainctl::core
