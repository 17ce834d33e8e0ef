// All jobs that are QUEUED, as people see them: in the order in which they go. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/ids.h"
#include "server/core/state.h"

namespace trainctl::core {

struct QueuedJobs {
  // By priority, share and age. Those that wait for a lease, another job or their group come last.
  std::vector<base::JobId> first;
  int64_t jobs = 0;     // of all that are QUEUED
  int64_t devices = 0;  // that these want
};

// At most so many of the first.
QueuedJobs FindQueued(const State& state, size_t most);

// The first of those that only wait for devices. Does not look at the others: it is quick.
std::vector<const Job*> FirstInTurn(const State& state, size_t most);

}  // namespace trainctl::core
