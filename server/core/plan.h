// What a rank is to run. Internal to this room.
#pragma once

#include "server/core/state.h"

namespace trainctl::core {

// The job of the live attempt resolved for its gang: strategy auto is single on one device and ddp
// on more; micro_batch_size auto is 1 as in job::PlanBatch. holds_gradients by the device's memory,
// which all ranks' devices have alike (placement/free_devices.h). bind_address and directory are
// the worker's to fill in, as are the CPUs, which follow from host_place and host_devices.
job::RankPlan MakePlan(const State& state, const Job& job, const RankRow& rank,
                       const job::Device& device);
// What of it all ranks of the gang have alike, by the device of one of them; and the rest.
job::RankPlan PlanOfGang(const State& state, const Job& job, const job::Device& device);
void FillRank(const State& state, const Job& job, const RankRow& rank, const job::Device& device,
              job::RankPlan* plan);

// Threads that a rank of the live attempt computes with: its device's; of an exclusive job, its
// part of those of all its host's devices.
int64_t ThreadsOf(const State& state, const Job& job, const RankRow& rank);

}  // namespace trainctl::core
