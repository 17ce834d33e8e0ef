#include "common/estimate/lora_targets.h"

#include <algorithm>

#include "common/model/model_description.h"

namespace trainctl::job {
namespace {

void AddTargets(const LoraSpec& lora, const UnitLayers& unit, int64_t encoder_unit,
                std::vector<LoraTarget>* targets) {
  for (const Layer& layer : unit) {
    for (const Module& module : layer.modules) {
      const bool is_named =
          lora.targets.empty() ||
          std::find(lora.targets.begin(), lora.targets.end(), module.target) != lora.targets.end();
      if (!module.target.empty() && is_named)
        targets->push_back(
            {module.target, layer.columns, module.rows, encoder_unit, layer.positions});
    }
  }
}

}  // namespace

std::vector<LoraTarget> LoraTargets(const LoraSpec& lora, const ModelShape& shape) {
  const ModelDescription model = Describe(shape);
  std::vector<LoraTarget> targets;
  AddTargets(lora, model.block, -1, &targets);
  AddTargets(lora, model.head, -1, &targets);
  for (size_t unit = 0; unit < model.encoder.size(); ++unit)
    AddTargets(lora, model.encoder[unit].layers, static_cast<int64_t>(unit), &targets);
  return targets;
}

std::vector<std::string> TargetsInForce(const LoraSpec& lora, const ModelShape& shape) {
  std::vector<std::string> names;
  for (const LoraTarget& target : LoraTargets(lora, shape)) {
    if (std::ranges::find(names, target.name) == names.end()) names.emplace_back(target.name);
  }
  return names;
}

}  // namespace trainctl::job
