#include "common/model/model_tensors.h"

namespace trainctl::job {
namespace {

std::vector<int64_t> ShapeOf(const Layer& layer, const Module& module) {
  if (!module.file_shape.empty()) return module.file_shape;
  if (!layer.is_matrix) return {module.rows};
  return {module.rows, layer.columns};
}

// prefix: of the modules' paths.
void AddUnit(const UnitLayers& unit, const std::string& prefix, std::vector<FileTensor>* tensors) {
  for (const Layer& layer : unit) {
    for (const Module& module : layer.modules) {
      tensors->push_back({prefix + module.WeightName(), ShapeOf(layer, module)});
      if (module.has_bias) tensors->push_back({prefix + module.path + ".bias", {module.rows}});
    }
  }
}

}  // namespace

std::vector<FileTensor> TensorsOf(const ModelDescription& model) {
  std::vector<FileTensor> tensors;
  for (const EncoderUnit& unit : model.encoder) AddUnit(unit.layers, unit.prefix, &tensors);
  AddUnit(model.embedding, "", &tensors);
  for (int64_t layer = 0; layer < model.layers; ++layer)
    AddUnit(model.block, model.BlockPrefix(layer), &tensors);
  AddUnit(model.head, "", &tensors);
  return tensors;
}

}  // namespace trainctl::job
