#include "worker/rank/model/linear_builder.h"

#include <utility>

#include "common/estimate/lora_targets.h"

namespace trainctl::model {

LinearBuilder::LinearBuilder(TableBuilder& table, const job::ModelShape& shape,
                             const std::optional<job::LoraSpec>& lora)
    : table_(table), lora_(lora) {
  if (!lora) return;
  for (const job::LoraTarget& target : job::LoraTargets(*lora, shape))
    targets_.emplace(target.name);
}

ops::LinearParams LinearBuilder::Add(ops::UnitId unit, const std::vector<Module>& modules,
                                     int64_t columns, bool quantized) {
  std::vector<std::pair<std::string, int64_t>> pieces;
  for (const Module& module : modules) pieces.emplace_back(module.path + ".weight", module.rows);
  Holding holding = OwnMatrix();
  holding.quantized = quantized;
  return Adapt(unit, table_.Packed(unit, pieces, columns, holding), modules, columns);
}

ops::LinearParams LinearBuilder::Adapt(ops::UnitId unit, std::vector<ops::ParamId> weights,
                                       const std::vector<Module>& modules, int64_t columns) {
  ops::LinearParams linear{.weights = std::move(weights), .frozen = lora_.has_value()};
  std::vector<std::pair<std::string, int64_t>> a_pieces;
  std::vector<ops::LoraBranch> branches;
  int64_t column = 0;
  for (const Module& module : modules) {
    const uint32_t number = modules_++;
    if (targets_.contains(module.target)) {
      a_pieces.emplace_back(module.path + ".lora_A.weight", lora_->r);
      const Holding zeros{.init = ops::Init::kZeros, .adapter = true};
      branches.push_back(
          {table_.Matrix(unit, module.path + ".lora_B.weight", module.rows, lora_->r, zeros),
           column, number});
    }
    column += module.rows;
  }
  if (branches.empty()) return linear;
  linear.scale = lora_->alpha / static_cast<double>(lora_->r);
  linear.dropout = lora_->dropout;
  const std::vector<ops::ParamId> as =
      table_.Packed(unit, a_pieces, columns, {.init = ops::Init::kKaimingUniform, .adapter = true});
  if (as.size() == 1) {
    linear.adapters.push_back({as[0], std::move(branches)});
  } else {
    for (size_t i = 0; i < as.size(); ++i) linear.adapters.push_back({as[i], {branches[i]}});
  }
  return linear;
}

}  // namespace trainctl::model
