// A rank meets the others of its attempt.
#pragma once

#include <c10/core/Device.h>

#include <memory>

#include "common/rank/rank_plan.h"
#include "worker/rank/comm/communicator.h"
#include "worker/rank/process/commands.h"
#include "worker/rank/process/reporter.h"
#include "worker/rank/process/wait_meter.h"

namespace trainctl::train {

// Who hears of a gang. They outlive its communicator.
struct GangEars {
  Commands& commands;  // bring rank 0's address to the others
  Reporter& reporter;  // takes it from rank 0; of all, when they wait for others
  WaitMeter& waits;    // how long
};

// Throws comm::CommError: the address, or a rank, never came. reads_peers as JoinOptions has it.
std::unique_ptr<comm::Communicator> JoinGang(const job::RankPlan& plan, at::Device device,
                                             const GangEars& ears, bool reads_peers);

}  // namespace trainctl::train
