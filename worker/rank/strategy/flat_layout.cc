#include "worker/rank/strategy/flat_layout.h"

#include "worker/rank/model/table_builder.h"

namespace trainctl::strategy {
namespace {

int64_t Padding(int64_t numel, int64_t multiple) {
  return (multiple - numel % multiple) % multiple;
}

}  // namespace

FlatLayout::FlatLayout(const ops::ParameterTable& table, const Group& group, int64_t shards)
    : table_(table),
      shards_(shards),
      numels_(table.units.size(), 0),
      gaps_(table.units.size()),
      pieces_(table.units.size()),
      offsets_(table.params.size(), -1) {
  for (size_t unit = 0; unit < table.units.size(); ++unit) {
    for (const ops::ParamId param : table.units[unit].params) {
      if (group(table.params[param])) Place(table.params[param], param);
    }
    const int64_t padding = Padding(numels_[unit], model::kTensorAlignment * shards);
    if (padding > 0) gaps_[unit].push_back({numels_[unit], padding});
    numels_[unit] += padding;
  }
}

std::vector<int64_t> FlatLayout::shard_numels() const {
  std::vector<int64_t> numels;
  for (ops::UnitId unit = 0; unit < units(); ++unit) numels.push_back(shard_numel(unit));
  return numels;
}

void FlatLayout::Place(const ops::ParamSpec& spec, ops::ParamId param) {
  int64_t& end = numels_[spec.unit];
  offsets_[param] = end;
  for (const ops::ParamPiece& piece : spec.pieces) {
    pieces_[spec.unit].push_back(
        {piece.name, end + piece.row * spec.columns(), piece.rows * spec.columns()});
  }
  end += spec.numel();
  const int64_t padding = Padding(end, model::kTensorAlignment);
  if (padding > 0) gaps_[spec.unit].push_back({end, padding});
  end += padding;
}

at::Tensor FlatLayout::View(const at::Tensor& flat, ops::ParamId param) const {
  const ops::ParamSpec& spec = table_.params[param];
  const int64_t first = flat.storage_offset() + offsets_[param];
  if (spec.shape.size() == 1) return flat.as_strided(spec.shape, {1}, first);
  return flat.as_strided(spec.shape, {spec.columns(), 1}, first);
}

}  // namespace trainctl::strategy
