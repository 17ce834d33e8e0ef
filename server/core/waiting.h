// Which devices a waiting job could use at all, and why it waits: pure. Internal to this room.
#pragma once

#include <string>
#include <vector>

#include "server/core/state.h"

namespace trainctl::core {

// Classes whose devices meet the job's constraints and of which the site, or its lease, has enough
// for it. Where it names workers only theirs count (reach.h). Devices count whether they are free
// or not, LOST, drained and leased ones included. If the job's memory estimate fits some of these
// classes, only those are returned. If it fits none, all are: such a job was submitted on purpose,
// or before there were devices.
// The answer stands until the job's next.
const std::vector<placement::ClassId>& PossibleClasses(const State& state, const Job& job);

// What the job could run on if it were no matter who has leased it: to look at its model and data.
std::vector<placement::ClassId> ClassesOfAnyLease(const State& state, const Job& job);

// Of PossibleClasses the ones with enough devices that are not drained, nor leased to others now. A
// job that has none holds nothing.
const std::vector<placement::ClassId>& UsableClasses(const State& state, const Job& job);

// Of which it would hold devices: UsableClasses, and of an exclusive job all classes on their
// hosts. While it waits as the first, later jobs get no device of them.
std::vector<placement::ClassId> WantedClasses(const State& state, const Job& job);

// Whether an exclusive job may have the worker's host, as far as this worker goes: nothing of ours
// is on its device, and it is there to say so.
bool LeavesHostEmpty(const Worker& worker);

// Reason() of a QUEUED job.
std::string WaitReason(const State& state, const Job& job, const Now& now);

}  // namespace trainctl::core
