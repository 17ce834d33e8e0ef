// Fair share: within one priority the jobs of whoever has used less go first (site_policy.h).
// Internal to this room.
//
// A user's use is how long their jobs have had devices, in device-seconds. Each of these is halved
// with every half-life that has passed since. It is summed up anew once a minute of wall time, from
// what each attempt had. So a coordinator that starts again finds the same order. What is older
// than kHalfLives counts no more. A job that has waited for a whole half-life goes before those
// that have not, the oldest first. So nobody starves, whatever they have used.
#pragma once

#include "server/core/turn.h"

namespace trainctl::core {

// Decayed device-milliseconds at the time `at` of devices held from..to; 0 of what is to come.
int64_t DecayedUse(const UseRow& row, base::WallMicros at, int64_t half_life_us);

// The share in the place of a job that is to be queued, as the use was summed up last.
int64_t ShareOf(const State& state, const Job& job);

// Of the job's attempt, which has ended: perhaps before use was summed up last.
void KeepUse(State& state, const Job& job);

// Sums up the use where a minute has begun, and gives the jobs that wait their new places. True:
// some place is another.
bool RenewShares(State& state, const Now& now);

}  // namespace trainctl::core
