// Whoever goes before is not delayed: EASY backfill's promise, checked without the code that keeps
// it (server/core/holds.h).
#pragma once

#include <set>

#include "server/core/state.h"

namespace trainctl::core {

// After a Step that placed these jobs: the first job that waits can start no later than it could
// without those behind it. As far as expected ends tell; of sites without fair share and leases.
void TheFirstInLineIsNotDelayed(const State& state, const Now& now,
                                const std::set<base::JobId>& placed);

}  // namespace trainctl::core
