#include "common/base/check.h"
#include "worker/rank/strategy/frozen_weights.h"
#include "worker/rank/strategy/replicated.h"
#include "worker/rank/strategy/sharded.h"

namespace trainctl::strategy {

// One strategy, one file, one case. What LoRA trains is small: fsdp shards the frozen weights only,
// and the adapters are replicated.
std::unique_ptr<Strategy> MakeStrategy(const ops::ParameterTable& table,
                                       const StrategyOptions& options) {
  auto frozen = MakeFrozenStores(table, options);
  const bool alone = options.comm == nullptr || options.comm->world_size() == 1;
  switch (options.job.strategy) {
    case job::StrategyKind::kSingle:
    case job::StrategyKind::kDdp:
      return std::make_unique<Replicated>(table, options, std::move(frozen));
    case job::StrategyKind::kFsdp:
      if (alone || options.job.lora)
        return std::make_unique<Replicated>(table, options, std::move(frozen));
      return std::make_unique<Sharded>(table, options, std::move(frozen));
    case job::StrategyKind::kAuto:  // resolved at submit
      break;
  }
  CHECK(false) << "strategy " << static_cast<int>(options.job.strategy) << " passed the check";
  return nullptr;
}

}  // namespace trainctl::strategy
