// One rank from its plan to its outcome. Exceptions of LibTorch and of the communicator end here
// and nowhere else.
#pragma once

#include "common/base/clock.h"
#include "common/rank/rank_messages.h"
#include "common/rank/rank_plan.h"
#include "worker/rank/data/cache_folders.h"
#include "worker/rank/process/commands.h"
#include "worker/rank/process/reporter.h"

namespace trainctl::train {

// What a rank takes from its process's environment.
struct Surroundings {
  data::CacheFolders folders;
  bool reads_peers = true;  // as NCCL's own: NCCL_P2P_DISABLE forbids it
};

// Never throws. What it returns is what the rank says of its own end; the caller sends it and ends
// the process at once, without destructors: the communicator is left as it is. Called once a
// process. The model of a hub id is looked for in the folders, and never fetched.
job::RankOutcome RunRank(const job::RankPlan& plan, Commands& commands, Reporter& reporter,
                         const base::Clock& clock, const Surroundings& surroundings);

}  // namespace trainctl::train
