#include "worker/rank/strategy/unit_strategy.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/clamp_max.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>

#include <utility>

#include "common/base/check.h"
#include "worker/rank/optim/grad_norm.h"
#include "worker/rank/optim/host_tensor.h"
#include "worker/rank/profile/range_names.h"
#include "worker/rank/strategy/tensor_bytes.h"

namespace trainctl::strategy {
namespace {

bool IsTrainable(const ops::ParamSpec& spec) { return spec.trainable; }

}  // namespace

UnitStrategy::UnitStrategy(const ops::ParameterTable& table, const StrategyOptions& options,
                           std::vector<std::unique_ptr<WeightStore>> frozen, int64_t shards,
                           int64_t shard)
    : table_(table),
      options_(options),
      dtypes_(DtypesOf(options.job)),
      layout_(table, IsTrainable, shards),
      frozen_(std::move(frozen)),
      shard_(shard),
      leased_(table.units.size()),
      written_(table.params.size(), false),
      held_(table.units.size()),
      uses_left_(table.units.size(), 0) {
  const auto on_device = at::TensorOptions().device(options.device);
  const auto zeros = [&](c10::ScalarType dtype) {
    std::vector<at::Tensor> parts;
    for (const int64_t numel : layout_.shard_numels())
      parts.push_back(at::zeros({numel}, on_device.dtype(dtype)));
    return parts;
  };
  if (shards > 1)
    shared_ = options.comm->MakeShards(layout_.shard_numels(), on_device.dtype(dtypes_.compute));
  if (options.job.offload_optimizer) {
    for (const int64_t numel : layout_.shard_numels())
      masters_.push_back(optim::HostTensor(numel, options.device));
  } else {
    masters_ = shared_ && !dtypes_.separate_compute ? shared_->shards() : zeros(dtypes_.master);
  }
  if (dtypes_.separate_compute) compute_ = shared_ ? shared_->shards() : zeros(dtypes_.compute);
  options.on_weights_made();
  optimizer_ = optim::MakeOptimizer({.spec = options.job.optimizer,
                                     .engine = options.job.engine,
                                     .offload = options.job.offload_optimizer,
                                     .threads = options.threads,
                                     .device = options.device},
                                    Buffers());
}

std::vector<optim::FlatBuffer> UnitStrategy::Buffers() const {
  std::vector<optim::FlatBuffer> buffers;
  for (ops::UnitId unit = 0; unit < layout_.units(); ++unit) {
    buffers.push_back({.master = masters_[unit], .segments = {}});
    for (const PieceRange& piece : layout_.pieces(unit)) {
      const Range common = Intersect(Part(unit), {piece.offset, piece.numel});
      if (common.numel > 0)
        buffers.back().segments.push_back(
            {common.begin - Part(unit).begin, common.numel, piece.numel});
    }
  }
  return buffers;
}

// ---- loading, and the state as a checkpoint sees it ----

WeightStore& UnitStrategy::FrozenStore(ops::ParamId param) const {
  for (const auto& store : frozen_) {
    if (store->Holds(param)) return *store;
  }
  CHECK(false) << "frozen parameter " << param << " is in no store";
  return *frozen_.front();
}

void UnitStrategy::SetRows(ops::ParamId param, int64_t row, const at::Tensor& values) {
  if (!layout_.Holds(param)) return FrozenStore(param).SetRows(param, row, values);
  const ops::ParamSpec& spec = table_.params[param];
  CopyIntoShard(masters_[spec.unit], Part(spec.unit).begin,
                layout_.offset(param) + row * spec.columns(), values);
}

at::Tensor UnitStrategy::GetRows(ops::ParamId param) {
  if (!layout_.Holds(param)) return FrozenStore(param).GetRows(param);
  return layout_.View(WholeMasters(table_.params[param].unit), param);
}

void UnitStrategy::FinishLoading() {
  for (size_t unit = 0; unit < compute_.size(); ++unit) compute_[unit].copy_(masters_[unit]);
  for (const auto& store : frozen_) store->FinishLoading();
}

std::vector<StateSlice> UnitStrategy::State() {
  std::vector<StateSlice> slices;
  for (ops::UnitId unit = 0; unit < layout_.units(); ++unit) {
    std::vector<optim::StateTensor> tensors = optimizer_->State(unit);
    tensors.push_back({"master", masters_[unit]});
    for (const PieceRange& piece : layout_.pieces(unit)) AppendSlices(unit, piece, tensors, slices);
  }
  return slices;
}

void UnitStrategy::AppendSlices(ops::UnitId unit, const PieceRange& piece,
                                const std::vector<optim::StateTensor>& tensors,
                                std::vector<StateSlice>& slices) const {
  const Range common = Intersect(Part(unit), {piece.offset, piece.numel});
  if (common.numel == 0) return;
  for (const optim::StateTensor& state : tensors) {
    const at::Tensor values = state.Of(common.begin - Part(unit).begin, common.numel);
    if (!values.defined()) continue;  // a kind that this tensor has no state of
    const int64_t per = state.elements_per_value;
    slices.push_back({.tensor = piece.name,
                      .kind = state.kind,
                      .elements_per_value = per,
                      .begin = (common.begin - piece.offset) / per,
                      .total = (piece.numel + per - 1) / per,
                      .values = values,
                      .writes = WritesState(unit)});
  }
}

// ---- the passes ----

at::Tensor UnitStrategy::Weight(ops::ParamId param) {
  if (!layout_.Holds(param)) return FrozenStore(param).Weight(param);
  return layout_.View(WholeWeights(table_.params[param].unit), param);
}

at::Tensor UnitStrategy::LeaseGrad(ops::UnitId unit) {
  const at::Tensor flat = at::empty(
      {layout_.numel(unit)}, at::TensorOptions().device(options_.device).dtype(dtypes_.grad));
  for (const Gap& gap : layout_.gaps(unit)) flat.narrow(0, gap.offset, gap.numel).zero_();
  for (const ops::ParamId param : table_.units[unit].params) written_[param] = false;
  return flat;
}

void UnitStrategy::BeginUnit(ops::UnitId unit, ops::Pass pass) {
  for (const auto& store : frozen_) store->BeginUnit(unit, pass);
  if (layout_.numel(unit) == 0) return;
  BeginUse(unit, pass);
  if (pass == ops::Pass::kBackward && !leased_[unit].defined()) leased_[unit] = LeaseGrad(unit);
}

ops::GradView UnitStrategy::Grad(ops::ParamId param) {
  if (!layout_.Holds(param)) return {};
  const double beta = written_[param] ? 1 : 0;
  written_[param] = true;
  return {layout_.View(leased_[table_.params[param].unit], param), beta};
}

void UnitStrategy::EndUnit(ops::UnitId unit, ops::Pass pass) {
  for (const auto& store : frozen_) store->EndUnit(unit, pass);
  if (layout_.numel(unit) == 0) return;
  EndUse(unit, pass);
  if (pass != ops::Pass::kBackward || --uses_left_[unit] > 0) return;
  if (options_.job.deterministic) {
    HoldInOrder(unit);
    if (last_micro_step_) Complete(unit);
    return;
  }
  if (!last_micro_step_ && !ReducesEachMicroStep()) return;
  if (ReducesAtEnd()) {
    deferred_.push_back(unit);
  } else {
    Reduce(unit);
  }
}

// ---- reduction and update ----

void UnitStrategy::Reduce(ops::UnitId unit) {
  Pending pending{.unit = unit,
                  .leased = std::exchange(leased_[unit], at::Tensor()),
                  .part = {},
                  .ticket = {},
                  .last = last_micro_step_};
  pending.ticket = StartReduction(pending.leased, pending.part);
  const bool overlaps = pending.ticket.has_value();
  pending_.push_back(std::move(pending));
  Settle(overlaps ? 1 : 0);
}

// held += this micro step's gradients of rank 0, 1, …, one after the other. They are given back
// before the sum is used.
void UnitStrategy::HoldInOrder(ops::UnitId unit) {
  at::Tensor parts = std::exchange(leased_[unit], at::Tensor()).unsqueeze(0);
  if (distributed()) {
    const at::Tensor own = parts[0];
    parts = at::empty({options_.comm->world_size(), own.numel()}, own.options());
    options_.comm->Wait(options_.comm->AllGather(parts, own));
  }
  const Range part = Part(unit);
  for (int64_t rank = 0; rank < parts.size(0); ++rank) {
    const at::Tensor own = parts[rank].narrow(0, part.begin, part.numel);
    Hold(unit, held_[unit].defined() ? own : own.clone());
  }
}

void UnitStrategy::ReduceDeferred() {
  for (const ops::UnitId unit : std::exchange(deferred_, {})) Reduce(unit);
}

// Finishes reductions until `keep` are left under way.
void UnitStrategy::Settle(size_t keep) {
  while (pending_.size() > keep) {
    const Pending done = std::move(pending_.front());
    pending_.pop_front();
    if (done.ticket) options_.comm->Wait(*done.ticket);
    Hold(done.unit, done.part);
    if (done.last) Complete(done.unit);
  }
}

void UnitStrategy::Hold(ops::UnitId unit, const at::Tensor& part) {
  if (held_[unit].defined()) {
    held_[unit].add_(part);
  } else {
    held_[unit] = part;
  }
}

// The unit's gradient is whole: all micro steps, all ranks.
void UnitStrategy::Complete(ops::UnitId unit) {
  if (want_grad_norm_) optim::AddNormSquared(held_[unit], norm_squared_);
  if (!options_.job.train.max_norm) Update(unit);
}

void UnitStrategy::Update(ops::UnitId unit) {
  RECORD_USER_SCOPE(profile::kOptimizerRange);
  optimizer_->Update(
      unit, {masters_[unit], held_[unit], dtypes_.separate_compute ? compute_[unit] : at::Tensor()},
      rates_);
  held_[unit].reset();
}

// ---- the step ----

void UnitStrategy::BeginStep(int64_t step, double lr, bool want_grad_norm) {
  rates_ = {.step = step + 1, .lr = lr, .grad_scale = {}};
  want_grad_norm_ = want_grad_norm || options_.job.train.max_norm.has_value();
  norm_squared_ =
      want_grad_norm_
          ? at::zeros({}, at::TensorOptions().device(options_.device).dtype(at::kDouble))
          : at::Tensor();
}

void UnitStrategy::BeginMicroStep(int64_t micro_step) {
  ReduceDeferred();
  last_micro_step_ = micro_step + 1 == options_.accumulation;
  for (size_t unit = 0; unit < uses_left_.size(); ++unit)
    uses_left_[unit] = table_.units[unit].uses;
  for (const auto& store : frozen_) store->BeginMicroStep(last_micro_step_);
  BeginUses(last_micro_step_);
}

at::Tensor UnitStrategy::FinishStep() {
  for (const auto& store : frozen_) store->EndStep();
  EndUses();
  ReduceDeferred();
  Settle(0);
  at::Tensor norm;
  if (want_grad_norm_) {
    ReduceNorm(norm_squared_);
    norm = at::sqrt(norm_squared_).to(at::kFloat);
  }
  if (options_.job.train.max_norm) {
    rates_.grad_scale = at::clamp_max(*options_.job.train.max_norm / (norm + 1e-6), 1.0);
    for (ops::UnitId unit = 0; unit < layout_.units(); ++unit) {
      if (held_[unit].defined()) Update(unit);
    }
  }
  {
    RECORD_USER_SCOPE(profile::kOptimizerRange);
    optimizer_->Finish();
  }
  return norm;
}

at::Tensor UnitStrategy::WeightsNorm() {
  const at::Tensor squared =
      at::zeros({}, at::TensorOptions().device(options_.device).dtype(at::kDouble));
  for (const at::Tensor& part : compute()) {
    if (part.numel() > 0) optim::AddNormSquared(part, squared);
  }
  ReduceNorm(squared);
  return at::sqrt(squared);
}

job::MemoryByKind UnitStrategy::Held() const {
  job::MemoryByKind held{.params = Bytes(compute_) + GatheredBytes(),
                         .grads = Bytes(leased_) + Bytes(held_),
                         .optimizer = optimizer_->StateBytes(),
                         .optimizer_cpu = optimizer_->HostStateBytes()};
  (options_.job.offload_optimizer ? held.optimizer_cpu : held.params) += Bytes(masters_);
  for (const auto& store : frozen_) held.params += store->HeldBytes();
  for (const Pending& pending : pending_) {
    held.grads += Bytes(pending.leased);
    if (!pending.part.is_same(pending.leased)) held.grads += Bytes(pending.part);
  }
  return held;
}

}  // namespace trainctl::strategy
