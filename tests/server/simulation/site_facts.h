// What is so of devices and jobs by the workers' rows and words alone: for checks of what the
// scheduler says and does, which has indexes of the same (server/placement, reach.h, quota.h).
#pragma once

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "server/core/state.h"

namespace trainctl::core {

// Devices that ranks of one gang may share: kind, model, memory, compute capability, and the lease
// that has them now.
using Kind = std::tuple<job::DeviceKind, std::string, int64_t, std::string, int64_t>;
Kind KindOf(const State& state, const Worker& worker);

// Of a live attempt; nullptr: the key names none.
const RankRow* FindLiveRow(const State& state, const job::RankKey& key);

// Nothing new may be placed there: it is drained, its host is, or its driver told of a fault.
bool IsOutOfOrder(const State& state, const Worker& worker);

// Something could be placed there now, as far as its worker's device goes.
bool IsFree(const State& state, const Worker& worker);

// The job could run there once it is free: by its constraints, where it failed, and its lease.
bool MayUse(const State& state, const Job& job, const Worker& worker);

// All of those; of an exclusive job all workers of their hosts.
std::set<const Worker*> Wanted(const State& state, const Job& job);

// Devices that live jobs of the user hold, but under leases: of exclusive ones all of their hosts'.
int64_t DevicesHeldBy(const State& state, const std::string& user);

// Whether the owner's quota lets the job have its devices beside what is held.
bool HasQuota(const State& state, const Job& job);

// The jobs of the queue, in its order.
std::vector<const Job*> InOrder(const State& state);

// The jobs of the queue with which nobody before them competes, for devices or for a quota.
std::vector<const Job*> FirstOfTheirLines(const State& state);

// Whether the job, if it is first in line, could be placed now. Devices that a lease wants later
// count as if they were not free.
bool CouldStart(const State& state, const Job& job);

}  // namespace trainctl::core
