// What the rank is doing, for the report of an error: shared by the trainer, which says so, and run_rank, which reports.
#pragma once

#include "common/job/outcome.h"

namespace trainctl::train {

struct RunState {
  const char* phase = "loading";  // as OomDetail's
  job::MemoryByKind last_memory;
};

}  // namespace trainctl::train
