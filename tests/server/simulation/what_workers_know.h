// A worker that has heard all that it was told knows what it needs once nobody can tell it more:
// which ranks it is to run, and until when. So does the coordinator of a worker that has said all.
#pragma once

#include "tests/server/simulation/sim_cluster.h"

namespace trainctl::core {

// Each rank of an attempt that goes on is at its worker.
void WorkersHaveTheirRanks(const SimCluster& cluster);

// Each other rank that runs at a worker is known, and is being stopped; one that is to go on is
// not. Of ranks that have ended no worker keeps anything.
void WorkersHaveNoOthers(const SimCluster& cluster);

// Whatever may be given out is free.
void FreeDevicesAreFree(const SimCluster& cluster);

// Each rank that runs has the deadline that follows from leases and from its time limit. After a
// Tick, with no lease made, extended or deleted since.
void WorkersKnowTheirDeadlines(const SimCluster& cluster);

}  // namespace trainctl::core
