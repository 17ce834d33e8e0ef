// The last moment of an attempt, which its workers keep by themselves. The coordinator may be out
// of reach then: still nothing outlives its lease or time limit, or goes on into another's lease.
// Workers that can hear it are told to stop somewhat earlier. Internal to this room.
#pragma once

#include <optional>
#include <string>

#include "server/core/turn.h"

namespace trainctl::core {

// Of the live attempt as things stand; nullopt: it may run on. The earliest of: the end of its own
// lease (LEASE_ENDED), the start of another's on its devices (PREEMPTED), its time limit (TIMEOUT).
std::optional<job::Deadline> DeadlineOf(const State& state, const Job& job, const Now& now);

// The same, and that all its workers are told it: of an attempt that begins.
std::optional<job::Deadline> FirstDeadline(Turn& turn, Job& job);
// Tells the workers of all running ranks where the deadline is not the one that they know: a lease
// was made, extended or deleted, or the clock jumped. At each Tick.
void RenewDeadline(Turn& turn, Job& job);
// The rank's worker has come back with it, and is told what holds by now.
void TellDeadline(Turn& turn, Job& job, const Rank& rank);

// The worker ended the rank at the deadline that it kept. Where nobody had stopped the attempt for
// another reason, that is its outcome. A job whose lease was extended meanwhile goes on.
void TakeDeadline(Turn& turn, Job& job, const Rank& rank);

// "the time limit of 60 s is over".
std::string TimeLimitText(int64_t seconds);

}  // namespace trainctl::core
