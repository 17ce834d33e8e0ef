// Frozen weights that every rank holds whole.
#pragma once

#include <vector>

#include "worker/rank/strategy/flat_layout.h"
#include "worker/rank/strategy/weight_store.h"

namespace trainctl::strategy {

class ResidentWeights : public WeightStore {
 public:
  // Holds the parameters of the group, in the dtype and on the device of options.
  ResidentWeights(const ops::ParameterTable& table, const FlatLayout::Group& group,
                  const at::TensorOptions& options);

  void BeginUnit(ops::UnitId, ops::Pass) override {}
  void EndUnit(ops::UnitId, ops::Pass) override {}
  bool Holds(ops::ParamId param) const override { return layout_.Holds(param); }
  at::Tensor Weight(ops::ParamId param) override;
  void SetRows(ops::ParamId param, int64_t row, const at::Tensor& values) override;
  at::Tensor GetRows(ops::ParamId param) override { return Weight(param); }
  void FinishLoading() override {}
  int64_t HeldBytes() const override;

 private:
  const ops::ParameterTable& table_;
  FlatLayout layout_;
  std::vector<at::Tensor> weights_;  // by unit
};

}  // namespace trainctl::strategy
