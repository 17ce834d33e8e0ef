// The jobs that go before one that waits, and what they hold. Pure; internal to this room.
#pragma once

#include <cstdint>

#include "server/core/holds.h"
#include "server/core/quota.h"
#include "server/core/state.h"

namespace trainctl::core {

// What the jobs ahead of one hold, as far as the first of them that it competes with.
struct Ahead {
  Holds holds;
  Quotas quotas;
  const Job* blocker = nullptr;  // null: none competes
};

// How many devices the job would hold now but for its owner's quota: it could have them, and they
// are too many, or it runs on them for too long. 0: it could have none, or its quota allows it.
int64_t DeniedByQuota(const Job& job, const State& state, const Ahead& ahead, const Now& now);

// Of a job of State::queue. `now` outlives what is returned.
Ahead LookAhead(const State& state, const Job& job, const Now& now);

// With a time limit of at most so many minutes the job could go before what is in its way: jobs
// ahead, leases to come. 0: with none, or nothing is in its way.
int64_t MinutesThatPass(const State& state, const Job& job, const Ahead& ahead, const Now& now);

}  // namespace trainctl::core
