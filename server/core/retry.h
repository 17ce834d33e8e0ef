// What an attempt that failed means for the next one: where it does not go, and when. Pure;
// internal to this room.
//
// A failure that may be its device's keeps the job away from that device; of an exclusive job from
// the host. So it is while others that fit are free, or will be in a few minutes. Where there are
// none, it may have the devices again, the one that it failed on first before the rest. So it is
// where its owner's quota is too small for the other hosts of an exclusive job.
//
// The next attempt follows after a pause: 1 s, and twice that of the failure before, up to 5 min.
// An attempt that gets further than all before it begins the count anew. The job stays in the queue
// meanwhile. It holds devices for the end of its pause only where that is near.
//
// All of it follows from the rows of its attempts, so a coordinator that starts knows it again.
#pragma once

#include <string>
#include <vector>

#include "server/core/turn.h"

namespace trainctl::core {

// Whether the device may be to blame: not for OOM, a stop of ours, or the job's own word.
bool MayBeTheDevices(const job::AttemptEnd& end);

// An attempt of the job has ended; in the order of attempts.
void NoteEnd(Job& job, const AttemptRow& attempt, const std::vector<RankRow>& ranks);
// The job pauses after its failure, that attempt.
void Pause(State& state, Job& job, const AttemptRow& attempt, const Now& now);

// Brings up to date which devices the QUEUED job avoids. It must be in no lane.
void RenewAvoided(State& state, Job& job, const Now& now);
// Ends pauses that are over, and lets jobs go where they may now. At each Tick.
void KeepRetries(Turn& turn);

// Whether it holds devices for the end of its pause already.
bool MayHold(const Job& job, const Now& now);

// "in 4 s, and not on a/0", of a job that has just failed.
std::string RetryText(const Job& job);
// Of one that pauses: "waits 4 s after its 3rd failure without progress".
std::string PauseReason(const Job& job);
// "a/0, where it failed"; empty: it avoids none.
std::string AvoidedText(const Job& job);

}  // namespace trainctl::core
