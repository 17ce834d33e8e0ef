// A job that was accepted uninspected, because no worker answered or a path was missing, is looked
// at again before it is placed. Internal to this room.
#pragma once

#include "server/core/turn.h"

namespace trainctl::core {

// Whether the queued job waits for that. It does so until a worker has looked, or max_inspections
// times none did.
bool NeedsInspection(const State& state, const Job& job);

// Asks the worker, unless one is asked already. JobInspected answers.
void AskToInspect(Turn& turn, Job& job, const Worker& worker);

}  // namespace trainctl::core
