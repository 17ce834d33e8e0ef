// Which devices a job may have. Its constraints, leases, drains, what earlier jobs hold, and hosts
// of its own come together in this place. Quotas are asked before (quota.h). A gang gets all its
// devices or none. Pure; internal to this room.
#pragma once

#include <set>
#include <vector>

#include "server/core/holds.h"

namespace trainctl::core {

// Devices for the job's ranks, in order; empty: there are not enough. Of an exclusive job first of
// the hosts that have the fewest devices. Then GPUs, of the class whose are nearest to each other;
// of equal ones that which suits best.
// `gone`: live jobs that are taken to have ended, and to have left their devices free.
std::vector<placement::DeviceId> ChooseDevices(const State& state, const Holds& holds,
                                               const Job& job, const Now& now,
                                               const std::set<base::JobId>& gone = {});

}  // namespace trainctl::core
