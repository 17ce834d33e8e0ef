// The strategy that a rank's job asks for, over a model's parameters.
#pragma once

#include <memory>

#include "worker/rank/model/model.h"
#include "worker/rank/process/rank_context.h"
#include "worker/rank/strategy/strategy.h"

namespace trainctl::train {

// accumulation: micro steps of one optimizer step.
inline std::unique_ptr<strategy::Strategy> MakeRankStrategy(const RankContext& rank,
                                                            const model::Model& model,
                                                            int64_t accumulation) {
  return strategy::MakeStrategy(model.parameters(), {.job = rank.plan.job,
                                                     .accumulation = accumulation,
                                                     .holds_gradients = rank.plan.holds_gradients,
                                                     .device = rank.device,
                                                     .comm = &rank.comm,
                                                     .threads = rank.plan.threads,
                                                     .host_place = rank.plan.host_place});
}

}  // namespace trainctl::train
