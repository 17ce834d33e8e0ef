#include "worker/model/table_builder.h"

#include <algorithm>

namespace trainctl::model {

ops::UnitId TableBuilder::Unit(std::string name, int64_t uses) {
  table_.units.push_back({.name = std::move(name), .params = {}, .uses = uses});
  return static_cast<ops::UnitId>(table_.units.size()) - 1;
}

ops::ParamId TableBuilder::Add(ops::ParamSpec spec) {
  const auto id = static_cast<ops::ParamId>(table_.params.size());
  table_.units[spec.unit].params.push_back(id);
  table_.params.push_back(std::move(spec));
  return id;
}

ops::ParamId TableBuilder::Vector(ops::UnitId unit, std::string name, int64_t size) {
  return Add({.shape = {size}, .pieces = {{std::move(name), 0, size}}, .unit = unit, .init = ops::Init::kOnes});
}

ops::ParamId TableBuilder::Matrix(ops::UnitId unit, std::string name, int64_t rows, int64_t columns) {
  return Add({.shape = {rows, columns}, .pieces = {{std::move(name), 0, rows}}, .unit = unit});
}

std::vector<ops::ParamId> TableBuilder::Packed(ops::UnitId unit, const std::vector<std::pair<std::string, int64_t>>& pieces,
                                               int64_t columns) {
  const bool packs = std::all_of(pieces.begin(), pieces.end(), [&](const auto& p) { return p.second * columns % kAlignment == 0; });
  std::vector<ops::ParamId> ids;
  if (!packs) {
    for (const auto& [name, rows] : pieces) ids.push_back(Matrix(unit, name, rows, columns));
    return ids;
  }
  ops::ParamSpec spec{.shape = {0, columns}, .pieces = {}, .unit = unit};
  for (const auto& [name, rows] : pieces) {
    spec.pieces.push_back({name, spec.shape[0], rows});
    spec.shape[0] += rows;
  }
  return {Add(std::move(spec))};
}

}  // namespace trainctl::model
