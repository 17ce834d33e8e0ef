// What a Step has decided no later one changes: why an attempt is stopped, how it and its ranks
// ended, what became of the job.
#pragma once

#include <vector>

#include "tests/server/ledger.h"

namespace trainctl::core {

// Of what a Step stores, beside what was stored before.
void WhatIsDecidedStays(const Ledger& before, const std::vector<Persist>& rows);

}  // namespace trainctl::core
