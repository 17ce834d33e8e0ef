#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "worker/rank/strategy/dtypes.h"
#include "worker/rank/strategy/gathered_weights.h"
#include "worker/rank/strategy/nf4_weights.h"
#include "worker/rank/strategy/replicated.h"
#include "worker/rank/strategy/resident_weights.h"
#include "worker/rank/strategy/sharded.h"
#include "worker/rank/strategy/strategy.h"

namespace trainctl::strategy {
namespace {

bool IsDense(const ops::ParamSpec& spec) { return !spec.trainable && !spec.quantized; }

// One store for what is kept in the compute dtype, gathered under fsdp, else resident. One store
// for what is quantized. Empty if nothing is frozen.
std::vector<std::unique_ptr<WeightStore>> MakeFrozenStores(const ops::ParameterTable& table,
                                                           const StrategyOptions& options) {
  const at::TensorOptions storage =
      at::TensorOptions().device(options.device).dtype(DtypesOf(options.job).compute);
  std::vector<std::unique_ptr<WeightStore>> stores;
  if (std::any_of(table.params.begin(), table.params.end(), IsDense)) {
    const bool gathers = options.job.strategy == job::StrategyKind::kFsdp &&
                         options.comm != nullptr && options.comm->world_size() > 1;
    if (gathers) {
      stores.push_back(std::make_unique<GatheredWeights>(table, IsDense, storage, *options.comm,
                                                         ResidencyOf(options.job)));
    } else {
      stores.push_back(std::make_unique<ResidentWeights>(table, IsDense, storage));
    }
  }
  if (std::any_of(table.params.begin(), table.params.end(),
                  [](const ops::ParamSpec& spec) { return spec.quantized; })) {
    stores.push_back(std::make_unique<Nf4Weights>(
        table, Nf4Options{.compute = storage,
                          .double_quantization = options.job.quantize == job::Quantize::kNf4Dq,
                          .fused = options.device.is_cuda() &&
                                   options.job.engine == job::EngineKind::kFused}));
  }
  return stores;
}

}  // namespace

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
