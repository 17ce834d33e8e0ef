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

// How many devices the hosts have that an exclusive job could have now but for its owner's quota.
// 0: it could have none, or its quota leaves it as many.
int64_t TooManyFor(const Job& job, const State& state, const Holds& holds, const Quotas& quotas,
                   const Now& now);

// Whether its owner's quota keeps the job waiting: as a whole, or from the devices that it could
// have now. It would hold too many with these, or run on them for too long.
bool WaitsForQuota(const Job& job, const State& state, const Ahead& ahead, const Now& now);

// Of a job of State::queue. `now` outlives what is returned.
Ahead LookAhead(const State& state, const Job& job, const Now& now);

// With a time limit of at most so many minutes the job could go before what is in its way: jobs
// ahead, leases to come. 0: with none, or nothing is in its way.
int64_t MinutesThatPass(const State& state, const Job& job, const Ahead& ahead, const Now& now);

}  // namespace trainctl::core
