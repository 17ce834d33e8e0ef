// single and ddp: every rank holds everything. Gradients are leased a unit at a time: a unit's gradient is all-reduced as the last backward
// of the step leaves it, overlapped with the backward of the unit before, then the optimizer updates the unit and the storage is free
// again; at most two units' gradients are alive. With accumulation gradients live until the last micro step, with max_norm until the
// end of the step. deterministic: each micro batch's gradient is formed alone and added in the order of micro batches over all ranks.
#pragma once

#include <deque>
#include <vector>

#include "worker/optim/optimizer.h"
#include "worker/strategy/flat_layout.h"
#include "worker/strategy/strategy.h"

namespace trainctl::strategy {

class Replicated : public Strategy {
 public:
  Replicated(const ops::ParameterTable& table, const StrategyOptions& options);

  void BeginUnit(ops::UnitId unit, ops::Pass pass) override;
  void EndUnit(ops::UnitId unit, ops::Pass pass) override;
  at::Tensor Weight(ops::ParamId param) override;
  ops::GradView Grad(ops::ParamId param) override;

  void SetRows(ops::ParamId param, int64_t row, const at::Tensor& values) override;
  at::Tensor GetRows(ops::ParamId param) override;
  void FinishLoading() override;
  void BeginStep(int64_t step, double lr, bool want_grad_norm) override;
  void BeginMicroStep(int64_t micro_step) override;
  at::Tensor FinishStep() override;
  std::vector<StateSlice> State() override;
  HeldBytes Held() const override;

 private:
  struct Pending {
    ops::UnitId unit;
    std::optional<comm::Communicator::Ticket> ticket;  // none: nothing to wait for
  };

  bool mixed() const { return options_.job.precision == job::Precision::kBf16Mixed; }
  bool distributed() const { return options_.comm != nullptr && options_.comm->world_size() > 1; }
  at::Tensor LeaseGrad(ops::UnitId unit) const;
  void AddInOrder(ops::UnitId unit);
  void Settle(size_t keep);
  void Update(ops::UnitId unit);

  const ops::ParameterTable& table_;
  StrategyOptions options_;
  FlatLayout layout_;
  std::vector<at::Tensor> masters_;  // by unit; fp32, or bf16 under bf16-true
  std::vector<at::Tensor> compute_;  // by unit; bf16-mixed only, else the masters themselves
  std::unique_ptr<optim::Optimizer> optimizer_;

  // of the step under way
  optim::StepRates rates_;
  bool want_grad_norm_ = false;
  bool last_micro_step_ = false;
  std::vector<at::Tensor> grads_;        // by unit; undefined: not leased
  std::vector<at::Tensor> micro_grads_;  // by unit; deterministic only: of this micro batch alone
  std::vector<bool> written_;            // by parameter: its gradient holds something to add to
  std::vector<int64_t> uses_left_;       // by unit, of this micro step's backward
  std::deque<Pending> pending_;          // all-reduces under way, oldest first
  at::Tensor norm_squared_;              // fp64 scalar
};

}  // namespace trainctl::strategy
