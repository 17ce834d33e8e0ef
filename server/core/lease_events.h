// The times of leases as they come. Internal to this room.
#pragma once

#include "server/core/leases.h"
#include "server/core/turn.h"

namespace trainctl::core {

// Ends and begins what is due, tells and stops who must go. At each Tick.
void KeepLeases(Turn& turn);

// What a worker's device belongs to, when it is described anew.
void RestoreLeaseOf(State& state, const Worker& worker);

// A coordinator starts: the lease is put into the state as it was stored.
void RestoreLease(State& state, const LeaseRow& row, const Now& now);
// The job takes its place under the lease that it names, if that is there.
void JoinLease(State& state, Job& job);
void LeaveLease(State& state, const Job& job);

}  // namespace trainctl::core
