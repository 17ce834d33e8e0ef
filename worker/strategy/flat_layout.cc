#include "worker/strategy/flat_layout.h"

#include "worker/model/table_builder.h"

namespace trainctl::strategy {

FlatLayout::FlatLayout(const ops::ParameterTable& table) : table_(table), gaps_(table.units.size()), offsets_(table.params.size(), 0) {
  for (size_t unit = 0; unit < table.units.size(); ++unit) {
    int64_t end = 0;
    for (const ops::ParamId param : table.units[unit].params) {
      const int64_t numel = table.params[param].numel();
      const int64_t padding = (model::kAlignment - numel % model::kAlignment) % model::kAlignment;
      offsets_[param] = end;
      end += numel;
      if (padding > 0) gaps_[unit].push_back({end, padding});
      end += padding;
    }
    units_.push_back({end});
  }
}

at::Tensor FlatLayout::View(const at::Tensor& flat, ops::ParamId param) const {
  const ops::ParamSpec& spec = table_.params[param];
  return flat.narrow(0, offsets_[param], spec.numel()).view(spec.shape);
}

}  // namespace trainctl::strategy
