#include "worker/rank/model/linear_builder.h"

#include <utility>

#include "common/estimate/frozen_parts.h"
#include "common/estimate/lora_targets.h"

namespace trainctl::model {

LinearBuilder::LinearBuilder(TableBuilder& table, const job::ModelShape& shape,
                             const ModelOptions& options)
    : table_(table), job_(JobOf(options)) {
  BeginPart(job::ModelPart::kLanguage);
  if (!job_.lora) return;
  for (const job::LoraTarget& target : job::LoraTargets(*job_.lora, shape))
    targets_.emplace(target.name);
}

void LinearBuilder::BeginPart(job::ModelPart part) { frozen_ = job::IsFrozen(job_, part); }

ops::ParamId LinearBuilder::AddRows(ops::UnitId unit, const job::Layer& layer) {
  const job::Module& module = layer.modules.front();
  Holding holding = OwnMatrix();
  holding.file_shape = module.file_shape;
  return table_.Matrix(unit, module.WeightName(), module.rows, layer.columns, holding);
}

ops::LinearParams LinearBuilder::Add(ops::UnitId unit, const std::string& prefix,
                                     const job::Layer& layer, bool quantized) {
  std::vector<std::pair<std::string, int64_t>> pieces;
  for (const job::Module& module : layer.modules)
    pieces.emplace_back(prefix + module.path + ".weight", module.rows);
  Holding holding = OwnMatrix();
  holding.quantized = quantized;
  holding.file_shape = layer.modules.front().file_shape;
  ops::LinearParams linear{.weights = table_.Packed(unit, pieces, layer.columns, holding),
                           .frozen = frozen_};
  for (const job::Module& module : layer.modules) {
    if (module.has_bias) linear.biases.push_back(AddBias(unit, prefix + module.path, module.rows));
  }
  Adapt(unit, prefix, layer, &linear);
  return linear;
}

ops::NormParams LinearBuilder::AddNorm(ops::UnitId unit, const std::string& prefix,
                                       const job::Layer& layer) {
  const job::Module& module = layer.modules.front();
  const std::string path = prefix + module.path;
  const ops::ParamId weight = table_.Vector(unit, path + ".weight", module.rows,
                                            {.init = ops::Init::kOnes, .trainable = !frozen_});
  return module.has_bias ? ops::NormParams(weight, AddBias(unit, path, module.rows))
                         : ops::NormParams(weight);
}

ops::ParamId LinearBuilder::AddBias(ops::UnitId unit, const std::string& path, int64_t size) {
  return table_.Vector(unit, path + ".bias", size,
                       {.init = ops::Init::kZeros, .trainable = !frozen_});
}

void LinearBuilder::Adapt(ops::UnitId unit, const std::string& prefix, const job::Layer& layer,
                          ops::LinearParams* linear) {
  std::vector<std::pair<std::string, int64_t>> a_pieces;
  std::vector<ops::LoraBranch> branches;
  const bool trains = job::Trains(job_);
  int64_t column = 0;
  for (const job::Module& module : layer.modules) {
    const uint32_t number = modules_++;
    if (targets_.contains(module.target)) {
      const std::string path = prefix + module.path;
      a_pieces.emplace_back(path + ".lora_A.weight", job_.lora->r);
      const Holding zeros{.init = ops::Init::kZeros, .trainable = trains, .adapter = true};
      branches.push_back(
          {table_.Matrix(unit, path + ".lora_B.weight", module.rows, job_.lora->r, zeros), column,
           number});
    }
    column += module.rows;
  }
  if (branches.empty()) return;
  linear->scale = job_.lora->alpha / static_cast<double>(job_.lora->r);
  linear->dropout = job_.lora->dropout;
  const std::vector<ops::ParamId> as =
      table_.Packed(unit, a_pieces, layer.columns,
                    {.init = ops::Init::kKaimingUniform, .trainable = trains, .adapter = true});
  if (as.size() == 1) {
    linear->adapters.push_back({as[0], std::move(branches)});
  } else {
    for (size_t i = 0; i < as.size(); ++i) linear->adapters.push_back({as[i], {branches[i]}});
  }
}

}  // namespace trainctl::model
