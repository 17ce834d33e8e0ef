// Groups of which at most so many jobs are under way at once (--max-parallel). Internal to this
// room.
//
// A job that has begun is under way until it is FINISHED, restarts included. Of the others those
// are that come first in the queue's order. What is under way follows from what is stored. So the
// last of them waits again where an older one no longer follows another job. A job that follows
// another is not under way, nor is one that can't start by its owner's quota.
#pragma once

#include <optional>
#include <string>

#include "server/core/turn.h"

namespace trainctl::core {

// The job, which has been accepted or restored, is one of its group's. max_parallel 0: any number.
void JoinGroup(State& state, base::GroupId group, int64_t max_parallel);

// A QUEUED job goes under way, or takes its place among those that wait for others of its group.
struct Admission {
  bool waits = false;
  std::optional<base::JobId> put_back;  // that waits again, since this one goes before it
};
Admission WaitForGroup(State& state, Job& job);
// It leaves that place.
void StopWaitingForGroup(State& state, Job& job);

// Lets the next of a group go, as many as may.
void AdmitFromGroup(Turn& turn, base::GroupId id);
// Of the groups of the jobs which this Turn ended.
void AdmitFromGroups(Turn& turn);

// Why a job of such a place waits.
std::string GroupReason(const State& state, const Job& job);

}  // namespace trainctl::core
