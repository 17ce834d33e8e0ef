// By what else than its id a job that is not FINISHED is found: its user, the folder it writes to.
// Internal to this room.
#pragma once

#include "server/core/state.h"

namespace trainctl::core {

void EnterIndexes(State& state, const Job& job);
void LeaveIndexes(State& state, const Job& job);

}  // namespace trainctl::core
