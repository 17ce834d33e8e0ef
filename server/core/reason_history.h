// What kept a waiting job, over time: for those who ask. In memory only: it begins anew with the
// coordinator.
#pragma once

#include <string>

#include "server/core/turn.h"

namespace trainctl::core {

// Every minute the first jobs that wait for devices are asked why. The last answers of
// each are kept (Job::reasons). One in which only times differ is no other. At the end of each
// Step: before that, jobs that others follow may be gone.
void NoteReasons(Turn& turn);

// What Job::reasons lacks of a live job's time, in sentences: before the coordinator began, or was
// among the first. Empty: nothing.
std::string HistoryNote(const State& state, const Job& job, const Now& now);

}  // namespace trainctl::core
