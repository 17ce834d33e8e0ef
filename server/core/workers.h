// The inventory. Internal to this room.
#pragma once

#include "server/core/state.h"

namespace trainctl::core {

// The worker as the row describes it, registered where it is new; its device is not free
// afterwards.
Worker& DescribeWorker(State& state, const WorkerRow& row);

// What the worker lets jobs do on its host, from now on.
void SetRules(State& state, Worker& worker, const job::HostRules& rules);

}  // namespace trainctl::core
