// One rank from its plan to its outcome. Exceptions of LibTorch and of the communicator end here
// and nowhere else.
#pragma once

#include <string>

#include "common/base/clock.h"
#include "common/rank/rank_messages.h"
#include "common/rank/rank_plan.h"
#include "worker/rank/process/commands.h"
#include "worker/rank/process/reporter.h"

namespace trainctl::train {

// Never throws. What it returns is what the rank says of its own end; the caller sends it and ends
// the process at once, without destructors: the communicator is left as it is. Called once a
// process. cache_folder: where tokenized data are kept from run to run; "": nowhere.
job::RankOutcome RunRank(const job::RankPlan& plan, Commands& commands, Reporter& reporter,
                         const base::Clock& clock, const std::string& cache_folder);

}  // namespace trainctl::train
