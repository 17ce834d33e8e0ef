#include "worker/rank/strategy/frozen_weights.h"

#include <algorithm>

#include "worker/rank/strategy/dtypes.h"
#include "worker/rank/strategy/gathered_weights.h"
#include "worker/rank/strategy/nf4_weights.h"
#include "worker/rank/strategy/resident_weights.h"
#include "worker/rank/strategy/sharded.h"

namespace trainctl::strategy {
namespace {

bool IsDense(const ops::ParamSpec& spec) { return !spec.trainable && !spec.quantized; }

}  // namespace

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

}  // namespace trainctl::strategy
