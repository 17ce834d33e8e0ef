// Fair share: within one priority the jobs of whoever has used less go first (site_policy.h).
// Internal to this room.
//
// A user's use is how long their jobs have held devices (held.h), in device-seconds. Each of these
// is halved with every half-life that has passed since. A lease is its owner's use from its start
// to its end, whether its devices are used or not; its jobs then add nothing. Use is summed up anew
// once a minute of wall time, from what each attempt and each lease had. So a coordinator that
// starts again finds the same order. What is older than kHalfLives counts no more.
//
// A user starves who has had no device for a half-life, though a job of theirs was submitted before
// that. Whoever has a lease has devices. The first such job of each user who starves goes before
// those of others, the oldest first. The rest keep their owner's share. So nobody waits forever,
// whatever they have used, and a backlog, however old, does not go before the others.
#pragma once

#include "server/core/turn.h"

namespace trainctl::core {

// Decayed device-milliseconds at the time `at` of devices held from..to; 0 of what is to come.
int64_t DecayedUse(const UseRow& row, base::WallMicros at, int64_t half_life_us);

// The share in the place of a job that is to be queued: its owner's use as it was summed up last.
// nullptr: the site has no fair share.
const int64_t* ShareOf(State& state, const Job& job);

// Of the job's attempt, which has ended: perhaps before use was summed up last.
void KeepUse(State& state, const Job& job, const Now& now);
// Of a lease that is about to leave State::leases.
void KeepUse(State& state, const LeaseRow& lease);

// Lets the first jobs of those who starve go first, and of nobody else: to be called whenever jobs
// came, left or were placed. True: some place is another.
bool LiftWhoStarves(State& state);

// Sums up the use where a minute has begun, and gives the jobs that wait their new places. True:
// some place is another.
bool RenewShares(State& state, const Now& now);

}  // namespace trainctl::core
