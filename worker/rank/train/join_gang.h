// A rank meets the others of its attempt.
#pragma once

#include <c10/core/Device.h>

#include <memory>

#include "common/rank/rank_plan.h"
#include "worker/rank/comm/communicator.h"
#include "worker/rank/process/commands.h"
#include "worker/rank/process/reporter.h"

namespace trainctl::train {

// Rank 0's address goes out by `reporter`, and comes to the others by `commands`. What it returns
// tells the reporter when it waits for others. Throws comm::CommError: the address, or a rank,
// never came. reads_peers as JoinOptions has it.
std::unique_ptr<comm::Communicator> JoinGang(const job::RankPlan& plan, at::Device device,
                                             Commands& commands, Reporter& reporter,
                                             bool reads_peers);

}  // namespace trainctl::train
