#include "common/estimate/lora_targets.h"

#include <algorithm>

#include "common/model/model_description.h"

namespace trainctl::job {

std::vector<LoraTarget> LoraTargets(const LoraSpec& lora, const ModelShape& shape) {
  const ModelDescription model = Describe(shape);
  std::vector<LoraTarget> targets;
  for (const UnitLayers* unit : {&model.block, &model.head}) {
    for (const Layer& layer : *unit) {
      for (const Module& module : layer.modules) {
        const bool is_named = lora.targets.empty() ||
                              std::find(lora.targets.begin(), lora.targets.end(), module.target) !=
                                  lora.targets.end();
        if (!module.target.empty() && is_named)
          targets.push_back({module.target, layer.columns, module.rows});
      }
    }
  }
  return targets;
}

}  // namespace trainctl::job
