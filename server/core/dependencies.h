// Jobs that follow others: resources.after. Internal to this room.
//
// A job names jobs that were accepted before it, so there are no cycles. Those of them that have
// not ended are found anew at each start of the coordinator. Whoever has ended by then ended as it
// was to: else its followers would have been CANCELLED in the same Step.
#pragma once

#include <string>

#include "server/core/turn.h"

namespace trainctl::core {

// A job that waits takes its place among those that follow. False: all that it names have ended.
bool Follow(State& state, Job& job);
// It leaves that place.
void StopFollowing(State& state, Job& job);

// Lets those start that followed the jobs which this Turn ended, or ends them.
void TellFollowers(Turn& turn);

// Why a job of State::following waits.
std::string FollowingReason(const State& state, const Job& job);

}  // namespace trainctl::core
