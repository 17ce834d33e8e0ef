// fsdp (ZeRO-3 and ZeRO-2: Rajbhandari et al. 2020; FSDP: Zhao et al. 2023). A rank holds one shard
// of each unit's masters, optimizer state and reduced gradient. Under sharding full, weights are
// whole while a unit is in use. Under grad_op, they are whole from their first use in a step to
// their last. Gradients are reduce-scattered as a micro step's backward leaves a unit. With
// holds_gradients only the last micro step's are, and until then whole gradients are added up.
// fsdp_unit "model" treats the model as one unit, as the labs' unwrapped run does: gathered at
// once, reduced at the end of the backward.
#pragma once

#include "worker/rank/strategy/unit_gatherer.h"
#include "worker/rank/strategy/unit_strategy.h"

namespace trainctl::strategy {

Residency ResidencyOf(const job::JobSpec& job);

class Sharded : public UnitStrategy {
 public:
  // options.comm is there, of two ranks or more.
  Sharded(const ops::ParameterTable& table, const StrategyOptions& options,
          std::vector<std::unique_ptr<WeightStore>> frozen);

  void FinishLoading() override;

 private:
  at::Tensor WholeWeights(ops::UnitId unit) override { return gatherer_.Whole(unit); }
  at::Tensor WholeMasters(ops::UnitId unit) override;
  void BeginUse(ops::UnitId unit, ops::Pass pass) override { gatherer_.BeginUnit(unit, pass); }
  void EndUse(ops::UnitId unit, ops::Pass pass) override { gatherer_.EndUnit(unit, pass); }
  void BeginUses(bool last_micro_step) override { gatherer_.BeginMicroStep(last_micro_step); }
  void EndUses() override;
  bool ReducesEachMicroStep() const override { return !options_.holds_gradients; }
  bool ReducesAtEnd() const override { return options_.job.fsdp_unit == job::FsdpUnit::kModel; }
  std::optional<Ticket> StartReduction(const at::Tensor& leased, at::Tensor& part) override;
  void ReduceNorm(const at::Tensor& norm_squared) override;
  bool WritesState(ops::UnitId) const override { return true; }
  int64_t GatheredBytes() const override { return gatherer_.HeldBytes(); }

  UnitGatherer gatherer_;
  ops::UnitId whole_masters_unit_ = -1;  // of whole_masters_
  at::Tensor whole_masters_;
};

}  // namespace trainctl::strategy
