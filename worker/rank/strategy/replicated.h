// single and ddp: every rank holds everything, and gradients are all-reduced once a step.
#pragma once

#include "worker/rank/strategy/unit_strategy.h"

namespace trainctl::strategy {

class Replicated : public UnitStrategy {
 public:
  Replicated(const ops::ParameterTable& table, const StrategyOptions& options,
             std::vector<std::unique_ptr<WeightStore>> frozen)
      : UnitStrategy(table, options, std::move(frozen), /*shards=*/1, /*shard=*/0) {}

 private:
  at::Tensor WholeWeights(ops::UnitId unit) override { return compute()[unit]; }
  at::Tensor WholeMasters(ops::UnitId unit) override { return masters()[unit]; }
  void BeginUse(ops::UnitId, ops::Pass) override {}
  void EndUse(ops::UnitId, ops::Pass) override {}
  void BeginUses(bool) override {}
  void EndUses() override {}
  bool ReducesEachMicroStep() const override { return false; }
  std::optional<Ticket> StartReduction(const at::Tensor& leased, at::Tensor& part) override;
  void ReduceNorm(const at::Tensor&) override {}  // the parts are the whole
  bool WritesState(ops::UnitId unit) const override;
};

}  // namespace trainctl::strategy
