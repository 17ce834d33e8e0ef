#include "worker/rank/strategy/resident_weights.h"

#include <ATen/ops/zeros.h>

#include "worker/rank/strategy/tensor_bytes.h"

namespace trainctl::strategy {

ResidentWeights::ResidentWeights(const ops::ParameterTable& table, const FlatLayout::Group& group,
                                 const at::TensorOptions& options)
    : table_(table), layout_(table, group) {
  for (ops::UnitId unit = 0; unit < layout_.units(); ++unit)
    weights_.push_back(at::zeros({layout_.numel(unit)}, options));
}

at::Tensor ResidentWeights::Weight(ops::ParamId param) {
  return layout_.View(weights_[table_.params[param].unit], param);
}

void ResidentWeights::SetRows(ops::ParamId param, int64_t row, const at::Tensor& values) {
  Weight(param).narrow(0, row, values.size(0)).copy_(values);
}

int64_t ResidentWeights::HeldBytes() const { return Bytes(weights_); }

}  // namespace trainctl::strategy
