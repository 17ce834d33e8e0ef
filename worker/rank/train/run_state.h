// What the rank is doing, for the report of an error: said by run_rank, the trial and the trainer,
// read by outcome_of.h.
#pragma once

#include "common/job/outcome.h"

namespace trainctl::train {

struct RunState {
  const char* phase = "loading";  // as OomDetail's
  bool in_trial = false;          // of the micro batch
  job::MemoryByKind last_memory;
};

}  // namespace trainctl::train
