// The stores that a job's frozen parameters live in.
#pragma once

#include <memory>
#include <vector>

#include "worker/rank/strategy/strategy.h"
#include "worker/rank/strategy/weight_store.h"

namespace trainctl::strategy {

// One store for what is kept in the compute dtype, gathered under fsdp, else resident. One store
// for what is quantized. Empty if nothing is frozen.
std::vector<std::unique_ptr<WeightStore>> MakeFrozenStores(const ops::ParameterTable& table,
                                                           const StrategyOptions& options);

}  // namespace trainctl::strategy
