// Frozen weights that are sharded over the ranks, each unit whole while it is in use: FSDP of a
// model whose adapters alone are trained.
#pragma once

#include <memory>

#include "worker/rank/strategy/flat_layout.h"
#include "worker/rank/strategy/unit_gatherer.h"
#include "worker/rank/strategy/weight_store.h"

namespace trainctl::strategy {

class GatheredWeights : public WeightStore {
 public:
  GatheredWeights(const ops::ParameterTable& table, const FlatLayout::Group& group,
                  const at::TensorOptions& options, comm::Communicator& comm, Residency residency);

  void BeginMicroStep(bool last) override { gatherer_.BeginMicroStep(last); }
  void BeginUnit(ops::UnitId unit, ops::Pass pass) override { gatherer_.BeginUnit(unit, pass); }
  void EndUnit(ops::UnitId unit, ops::Pass pass) override { gatherer_.EndUnit(unit, pass); }
  bool Holds(ops::ParamId param) const override { return layout_.Holds(param); }
  at::Tensor Weight(ops::ParamId param) override;
  void SetRows(ops::ParamId param, int64_t row, const at::Tensor& values) override;
  at::Tensor GetRows(ops::ParamId param) override;
  void FinishLoading() override { gatherer_.Release(); }
  void EndStep() override { gatherer_.Release(); }
  int64_t HeldBytes() const override;

 private:
  const ops::ParameterTable& table_;
  comm::Communicator& comm_;
  FlatLayout layout_;
  const std::unique_ptr<comm::SharedShards> shards_;  // by unit
  UnitGatherer gatherer_;
};

}  // namespace trainctl::strategy
