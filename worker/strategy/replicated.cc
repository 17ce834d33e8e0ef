#include "worker/strategy/replicated.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/clamp_max.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/zeros.h>

#include "worker/optim/grad_norm.h"

namespace trainctl::strategy {
namespace {

at::ScalarType StorageType(job::Precision precision) { return precision == job::Precision::kBf16True ? at::kBFloat16 : at::kFloat; }

int64_t Bytes(const std::vector<at::Tensor>& tensors) {
  int64_t bytes = 0;
  for (const at::Tensor& tensor : tensors) {
    if (tensor.defined()) bytes += static_cast<int64_t>(tensor.nbytes());
  }
  return bytes;
}

}  // namespace

Replicated::Replicated(const ops::ParameterTable& table, const StrategyOptions& options)
    : table_(table),
      options_(options),
      layout_(table, [](const ops::ParamSpec& spec) { return spec.trainable; }),
      grads_(table.units.size()),
      micro_grads_(table.units.size()),
      written_(table.params.size(), false),
      uses_left_(table.units.size(), 0) {
  const auto storage = at::TensorOptions().device(options.device).dtype(StorageType(options.job.precision));
  std::vector<optim::FlatBuffer> buffers;
  for (ops::UnitId unit = 0; unit < static_cast<ops::UnitId>(layout_.units()); ++unit) {
    masters_.push_back(at::zeros({layout_.numel(unit)}, storage));
    if (mixed()) compute_.push_back(at::zeros({layout_.numel(unit)}, storage.dtype(at::kBFloat16)));
    buffers.push_back({.master = masters_.back(), .segments = {}});
    for (const PieceRange& piece : layout_.pieces(unit)) buffers.back().segments.push_back({piece.offset, piece.numel, piece.numel});
  }
  optimizer_ = optim::MakeOptimizer({.spec = options.job.optimizer, .engine = options.job.engine}, buffers);
}

void Replicated::SetRows(ops::ParamId param, int64_t row, const at::Tensor& values) {
  const at::Tensor view = layout_.View(masters_[table_.params[param].unit], param);
  view.narrow(0, row, values.size(0)).copy_(values);
}

at::Tensor Replicated::GetRows(ops::ParamId param) { return layout_.View(masters_[table_.params[param].unit], param); }

void Replicated::FinishLoading() {
  for (size_t unit = 0; unit < compute_.size(); ++unit) compute_[unit].copy_(masters_[unit]);
}

at::Tensor Replicated::Weight(ops::ParamId param) {
  const ops::UnitId unit = table_.params[param].unit;
  return layout_.View(mixed() ? compute_[unit] : masters_[unit], param);
}

void Replicated::BeginStep(int64_t step, double lr, bool want_grad_norm) {
  rates_ = {.step = step + 1, .lr = lr, .grad_scale = {}};
  want_grad_norm_ = want_grad_norm || options_.job.train.max_norm.has_value();
  written_.assign(written_.size(), false);
  norm_squared_ = want_grad_norm_ ? at::zeros({}, at::TensorOptions().device(options_.device).dtype(at::kDouble)) : at::Tensor();
}

void Replicated::BeginMicroStep(int64_t micro_step) {
  last_micro_step_ = micro_step + 1 == options_.accumulation;
  for (size_t unit = 0; unit < uses_left_.size(); ++unit) uses_left_[unit] = table_.units[unit].uses;
  if (options_.job.deterministic) written_.assign(written_.size(), false);
}

at::Tensor Replicated::LeaseGrad(ops::UnitId unit) const {
  const at::Tensor flat = at::empty({layout_.numel(unit)}, masters_[unit].options());
  for (const Gap& gap : layout_.gaps(unit)) flat.narrow(0, gap.offset, gap.numel).zero_();
  return flat;
}

void Replicated::BeginUnit(ops::UnitId unit, ops::Pass pass) {
  if (pass != ops::Pass::kBackward) return;
  at::Tensor& grad = options_.job.deterministic ? micro_grads_[unit] : grads_[unit];
  if (!grad.defined()) grad = LeaseGrad(unit);
}

ops::GradView Replicated::Grad(ops::ParamId param) {
  const ops::UnitId unit = table_.params[param].unit;
  const double beta = written_[param] ? 1 : 0;
  written_[param] = true;
  return {layout_.View(options_.job.deterministic ? micro_grads_[unit] : grads_[unit], param), beta};
}

void Replicated::EndUnit(ops::UnitId unit, ops::Pass pass) {
  if (pass != ops::Pass::kBackward || --uses_left_[unit] > 0) return;
  if (options_.job.deterministic) AddInOrder(unit);
  if (!last_micro_step_) return;
  Pending pending{unit, std::nullopt};
  if (distributed() && !options_.job.deterministic) pending.ticket = options_.comm->AllReduce(grads_[unit]);
  pending_.push_back(pending);
  Settle(pending.ticket ? 1 : 0);
}

// grads += this micro step's gradients of rank 0, 1, …, one after the other.
void Replicated::AddInOrder(ops::UnitId unit) {
  at::Tensor parts = std::exchange(micro_grads_[unit], at::Tensor()).unsqueeze(0);
  if (distributed()) {
    const at::Tensor own = parts[0];
    parts = at::empty({options_.comm->world_size(), own.numel()}, own.options());
    options_.comm->Wait(options_.comm->AllGather(parts, own));
  }
  for (int64_t rank = 0; rank < parts.size(0); ++rank) {
    if (!grads_[unit].defined()) {
      grads_[unit] = parts[rank].clone();
    } else {
      grads_[unit].add_(parts[rank]);
    }
  }
}

// Finishes all-reduces until `keep` are left under way; without clipping, each finished unit is updated and its gradient given back.
void Replicated::Settle(size_t keep) {
  while (pending_.size() > keep) {
    const Pending done = pending_.front();
    pending_.pop_front();
    if (done.ticket) options_.comm->Wait(*done.ticket);
    if (want_grad_norm_) optim::AddNormSquared(grads_[done.unit], norm_squared_);
    if (!options_.job.train.max_norm) Update(done.unit);
  }
}

void Replicated::Update(ops::UnitId unit) {
  optimizer_->Update(unit, {masters_[unit], grads_[unit], mixed() ? compute_[unit] : at::Tensor()}, rates_);
  grads_[unit].reset();
}

at::Tensor Replicated::FinishStep() {
  Settle(0);
  if (!want_grad_norm_) return {};
  const at::Tensor norm = at::sqrt(norm_squared_).to(at::kFloat);
  if (options_.job.train.max_norm) {
    rates_.grad_scale = at::clamp_max(*options_.job.train.max_norm / (norm + 1e-6), 1.0);
    for (size_t unit = 0; unit < grads_.size(); ++unit) Update(static_cast<ops::UnitId>(unit));
  }
  return norm;
}

std::vector<StateSlice> Replicated::State() {
  std::vector<StateSlice> slices;
  for (ops::UnitId unit = 0; unit < static_cast<ops::UnitId>(layout_.units()); ++unit) {
    const bool writes = options_.comm == nullptr || unit % options_.comm->world_size() == options_.comm->rank();
    std::vector<optim::StateTensor> tensors = optimizer_->State(unit);
    tensors.push_back({"master", masters_[unit]});
    for (const PieceRange& piece : layout_.pieces(unit)) {
      for (const optim::StateTensor& state : tensors) {
        const int64_t per = state.elements_per_value, values = (piece.numel + per - 1) / per;
        slices.push_back({piece.name, state.kind, per, 0, values, state.values.narrow(0, piece.offset / per, values), writes});
      }
    }
  }
  return slices;
}

HeldBytes Replicated::Held() const {
  return {.params = Bytes(masters_) + Bytes(compute_),
          .grads = Bytes(grads_) + Bytes(micro_grads_),
          .optimizer = optimizer_->StateBytes()};
}

}  // namespace trainctl::strategy
