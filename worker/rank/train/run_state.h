// What the rank is doing and what it holds, for the report of an error: said by run_rank, the trial
// and the trainer, read by outcome_of.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "common/job/outcome.h"
#include "worker/rank/model/model.h"
#include "worker/rank/process/device.h"
#include "worker/rank/process/rank_context.h"
#include "worker/rank/strategy/strategy.h"

namespace trainctl::train {

struct RunState {
  job::OomPhase phase;
  // Outlives the error, so that what is held by kind can still be asked.
  std::unique_ptr<strategy::Strategy> strategy;
  // While there is no strategy yet: what the device's allocator had given out. One value is from
  // when the making of weights began, one from when that of the optimizer's state began.
  std::optional<int64_t> before_weights, before_optimizer;
};

// Makes the strategy that the rank's job asks for, over the model's parameters. accumulation: micro
// steps of one optimizer step. Throws c10::OutOfMemoryError and optim::HostMemoryError.
strategy::Strategy& MakeRankStrategy(const RankContext& rank, const model::Model& model,
                                     const RankDevice& device, int64_t accumulation,
                                     RunState& state);

}  // namespace trainctl::train
