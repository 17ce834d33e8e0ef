// Groups of which at most so many jobs are under way at once (--max-parallel). Internal to this
// room.
//
// A job is under way from the time that it may be placed until it is FINISHED, restarts included.
// The next is then the one that is first in the queue's order. A job that can't start by its
// owner's quota is not under way.
#pragma once

#include <string>

#include "server/core/turn.h"

namespace trainctl::core {

// The job, which has been accepted or restored, is one of its group's. max_parallel 0: any number.
void JoinGroup(State& state, base::GroupId group, int64_t max_parallel);

// A QUEUED job goes under way, or takes its place among those that wait for others of its group:
// then true.
bool WaitForGroup(State& state, Job& job);
// It leaves that place.
void StopWaitingForGroup(State& state, Job& job);

// Lets the next of their groups go in place of the jobs which this Turn ended.
void AdmitFromGroups(Turn& turn);

// Why a job of such a place waits.
std::string GroupReason(const State& state, const Job& job);

}  // namespace trainctl::core
