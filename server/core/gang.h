// The life of a gang: all ranks start, stop and end as one. Internal to this room.
#pragma once

#include <string>
#include <vector>

#include "server/core/turn.h"

namespace trainctl::core {

// Places a queued job on the devices, one a rank, and starts its next attempt. The job must have
// left the queue.
void StartGang(Turn& turn, Job& job, const std::vector<placement::DeviceId>& devices);

// Tells the rank's worker to start it; nothing where the worker is away (its Hello brings it up
// again).
void SendStart(Turn& turn, const Job& job, const Rank& rank);
// Tells the rank who its peers are, where rank 0 has published that and this rank has not joined
// yet.
void SendPeersIfNeeded(Turn& turn, const LiveAttempt& attempt, const Rank& rank);
// When that was which a worker says is so long ago: neither before the attempt was placed, nor in
// the future. Clocks differ, and workers err.
base::WallMicros TimeBefore(const AttemptRow& attempt, base::WallMicros now, int64_t age_us);
// The rank's start-up is over: it makes steps, evaluates or saves.
bool HasJoined(const Rank& rank);

// Ends every rank that may still run. The first reason stays. `stop.at` is set here.
void StopGang(Turn& turn, Job& job, Stop stop);

// The rank's processes are known to be gone. May stop its gang, and may end the attempt.
void EndRank(Turn& turn, Job& job, Rank& rank, Proof proof);

// Ends the attempt if all that must be known is known (step.h, "End"); then the job queues again or
// is FINISHED, and `job` may be gone.
void EndAttemptIfSettled(Turn& turn, Job& job);

// FINISHED: the job leaves the state.
void Finish(Turn& turn, Job& job, job::AttemptEnd end);

}  // namespace trainctl::core
