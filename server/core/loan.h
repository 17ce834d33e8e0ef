// A site whose devices are lent to it for a time, by a cluster's engine (Options::lent_until).
//
// lease_grace before that time every job is stopped with the time to save, and none is started any
// more: PREEMPTED, it queues again for the next loan. Hosts of the next one are others, perhaps. So
// a rank that ended with its host, or by a signal that nobody here sent, is PREEMPTED too.
// Internal to this room.
#pragma once

#include <string>

#include "server/core/turn.h"

namespace trainctl::core {

// Whether nothing is started any more.
bool IsClosing(const State& state, const Now& now);
// Stops what runs, where that is due.
void KeepLoan(Turn& turn);
// Says of a job that was placed now that its time limit reaches beyond the loan.
void TellOfLoan(Turn& turn, const Job& job);
// Of a QUEUED job while IsClosing.
std::string LoanReason(const State& state);
// An end that is its host's, not the job's, becomes PREEMPTED where the devices are lent.
void JudgeAsLent(const State& state, const LiveAttempt& attempt, job::AttemptEnd* end);

}  // namespace trainctl::core
