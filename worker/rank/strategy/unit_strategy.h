// What all strategies share. The trainable parameters are one flat buffer a unit. A rank holds a
// part of it (Replicated: all of it; Sharded: its shard), with the optimizer's state of that part.
// Gradients are leased a unit at a time. The frozen parameters are in stores of their own.
//
// As a micro step's last backward use of a unit ends, its gradient is reduced over the ranks. That
// overlaps the backward of the unit before, and goes into the held gradient of this rank's part. Or
// only the last micro step reduces, and the lease is added to until then (ReducesEachMicroStep). In
// the last micro step, without max_norm, the optimizer updates the part right then and the storage
// is free again. Of what is reduced at most two units' gradients are alive then. With max_norm the
// held gradients live until FinishStep.
//
// deterministic: each micro batch's gradient is formed alone, and added in the order of micro
// batches over all ranks.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "worker/rank/comm/shared_shards.h"
#include "worker/rank/optim/optimizer.h"
#include "worker/rank/strategy/dtypes.h"
#include "worker/rank/strategy/flat_layout.h"
#include "worker/rank/strategy/shard.h"
#include "worker/rank/strategy/strategy.h"
#include "worker/rank/strategy/weight_store.h"

namespace trainctl::strategy {

class UnitStrategy : public Strategy {
 public:
  void BeginUnit(ops::UnitId unit, ops::Pass pass) override;
  void EndUnit(ops::UnitId unit, ops::Pass pass) override;
  at::Tensor Weight(ops::ParamId param) override;
  ops::GradView Grad(ops::ParamId param) override;
  bool Trains(ops::UnitId unit) const override { return layout_.numel(unit) > 0; }

  void SetRows(ops::ParamId param, int64_t row, const at::Tensor& values) override;
  at::Tensor GetRows(ops::ParamId param) override;
  void FinishLoading() override;
  std::vector<StateSlice> State() override;
  void BeginStep(int64_t step, double lr, bool want_grad_norm) override;
  void BeginMicroStep(int64_t micro_step) override;
  at::Tensor FinishStep() override;
  at::Tensor WeightsNorm() override;
  job::MemoryByKind Held() const override;

 protected:
  // frozen: stores of the frozen parameters, asked in this order.
  UnitStrategy(const ops::ParameterTable& table, const StrategyOptions& options,
               std::vector<std::unique_ptr<WeightStore>> frozen, int64_t shards, int64_t shard);

  using Ticket = comm::Communicator::Ticket;

  // ---- what strategies differ in ----

  // The unit's trainable weights, whole, in the compute dtype.
  virtual at::Tensor WholeWeights(ops::UnitId unit) = 0;
  // The unit's masters, whole; outside of steps.
  virtual at::Tensor WholeMasters(ops::UnitId unit) = 0;
  virtual void BeginUse(ops::UnitId unit, ops::Pass pass) = 0;
  virtual void EndUse(ops::UnitId unit, ops::Pass pass) = 0;
  virtual void BeginUses(bool last_micro_step) = 0;
  // No use until the next BeginUses; what was made whole is let go of, for the weights may have
  // changed.
  virtual void EndUses() = 0;
  // Whether gradients are reduced in each micro step, and not the sum of all in the last.
  virtual bool ReducesEachMicroStep() const = 0;
  // Whether reductions wait for the end of the micro step's backward.
  virtual bool ReducesAtEnd() const { return false; }
  // Begins to reduce the leased gradient over the ranks; the sum arrives in `part`, which may be
  // the lease itself.
  virtual std::optional<Ticket> StartReduction(const at::Tensor& leased, at::Tensor& part) = 0;
  // norm_squared is the sum over this rank's parts; makes it that over all.
  virtual void ReduceNorm(const at::Tensor& norm_squared) = 0;
  // Whether this rank writes its part of a unit into checkpoints.
  virtual bool WritesState(ops::UnitId unit) const = 0;
  virtual int64_t GatheredBytes() const { return 0; }

  bool distributed() const { return options_.comm != nullptr && options_.comm->world_size() > 1; }
  const std::vector<at::Tensor>& masters() const { return masters_; }
  // The parts that are computed with: the compute copies, or the masters themselves.
  const std::vector<at::Tensor>& compute() const {
    return dtypes_.separate_compute ? compute_ : masters_;
  }
  // What compute() is where there are several shards.
  comm::SharedShards& shared() const { return *shared_; }

  const ops::ParameterTable& table_;
  const StrategyOptions options_;
  const Dtypes dtypes_;
  const FlatLayout layout_;  // of the trainable parameters

 private:
  struct Pending {
    ops::UnitId unit = 0;
    at::Tensor leased;             // kept until the reduction is done
    at::Tensor part;               // this rank's part of the sum
    std::optional<Ticket> ticket;  // none: nothing to wait for
    bool last = false;             // micro step
  };

  WeightStore& FrozenStore(ops::ParamId param) const;
  Range Part(ops::UnitId unit) const {
    return {shard_ * layout_.shard_numel(unit), layout_.shard_numel(unit)};
  }
  std::vector<optim::FlatBuffer> Buffers() const;
  at::Tensor LeaseGrad(ops::UnitId unit);
  void Reduce(ops::UnitId unit);
  void HoldInOrder(ops::UnitId unit);
  void ReduceDeferred();
  void Settle(size_t keep);
  void Hold(ops::UnitId unit, const at::Tensor& part);
  void Complete(ops::UnitId unit);
  void Update(ops::UnitId unit);
  void AppendSlices(ops::UnitId unit, const PieceRange& piece,
                    const std::vector<optim::StateTensor>& tensors,
                    std::vector<StateSlice>& slices) const;

  const std::vector<std::unique_ptr<WeightStore>> frozen_;
  const int64_t shard_;
  std::unique_ptr<comm::SharedShards> shared_;  // none: this rank's part is all
  std::vector<at::Tensor> masters_;             // by unit: this rank's part
  std::vector<at::Tensor> compute_;             // the same; empty without separate_compute
  std::unique_ptr<optim::Optimizer> optimizer_;

  // of the step under way
  optim::StepRates rates_;
  bool want_grad_norm_ = false;
  bool last_micro_step_ = false;
  std::vector<at::Tensor>
      leased_;                 // by unit, whole: what the backward writes to; undefined: not leased
  std::vector<bool> written_;  // by parameter: its leased gradient holds something to add to
  std::vector<at::Tensor> held_;  // by unit, this rank's part: reduced, over the micro steps so far
  std::vector<int64_t> uses_left_;     // by unit, of this micro step's backward
  std::vector<ops::UnitId> deferred_;  // units whose reduction waits for the end of the backward
  std::deque<Pending> pending_;        // reductions under way, oldest first
  at::Tensor norm_squared_;            // fp64 scalar
};

}  // namespace trainctl::strategy
