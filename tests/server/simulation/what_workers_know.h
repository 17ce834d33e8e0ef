// A worker that has heard all that it was told knows what it needs once nobody can tell it more:
// which ranks it is to run, and until when.
#pragma once

#include "tests/server/simulation/sim_cluster.h"

namespace trainctl::core {

// Each rank of an attempt that goes on is at its worker.
void WorkersHaveTheirRanks(const SimCluster& cluster);

// Each rank that runs has the deadline that follows from leases and from its time limit. After a
// Tick, with no lease made, extended or deleted since.
void WorkersKnowTheirDeadlines(const SimCluster& cluster);

}  // namespace trainctl::core
