#include "worker/rank/model/table_builder.h"

#include <algorithm>

namespace trainctl::model {

ops::UnitId TableBuilder::Unit(std::string name, int64_t uses) {
  table_.units.push_back({.name = std::move(name), .params = {}, .uses = uses});
  return static_cast<ops::UnitId>(table_.units.size()) - 1;
}

ops::ParamId TableBuilder::Add(std::vector<int64_t> shape, std::vector<ops::ParamPiece> pieces,
                               ops::UnitId unit, const Holding& holding) {
  const auto id = static_cast<ops::ParamId>(table_.params.size());
  table_.units[unit].params.push_back(id);
  table_.params.push_back({.shape = std::move(shape),
                           .pieces = std::move(pieces),
                           .file_shape = holding.file_shape,
                           .unit = unit,
                           .init = holding.init,
                           .trainable = holding.trainable,
                           .quantized = holding.quantized,
                           .adapter = holding.adapter});
  return id;
}

ops::ParamId TableBuilder::Vector(ops::UnitId unit, std::string name, int64_t size,
                                  const Holding& holding) {
  return Add({size}, {{std::move(name), 0, size}}, unit, holding);
}

ops::ParamId TableBuilder::Matrix(ops::UnitId unit, std::string name, int64_t rows, int64_t columns,
                                  const Holding& holding) {
  return Add({rows, columns}, {{std::move(name), 0, rows}}, unit, holding);
}

std::vector<ops::ParamId> TableBuilder::Packed(
    ops::UnitId unit, const std::vector<std::pair<std::string, int64_t>>& pieces, int64_t columns,
    const Holding& holding) {
  const bool packs = std::all_of(pieces.begin(), pieces.end(), [&](const auto& p) {
    return p.second * columns % kTensorAlignment == 0;
  });
  std::vector<ops::ParamId> ids;
  if (!packs) {
    for (const auto& [name, rows] : pieces)
      ids.push_back(Matrix(unit, name, rows, columns, holding));
    return ids;
  }
  std::vector<ops::ParamPiece> packed;
  int64_t row = 0;
  for (const auto& [name, rows] : pieces) {
    packed.push_back({name, row, rows});
    row += rows;
  }
  return {Add({row, columns}, std::move(packed), unit, holding)};
}

}  // namespace trainctl::model
