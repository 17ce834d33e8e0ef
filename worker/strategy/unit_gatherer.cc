#include "worker/strategy/unit_gatherer.h"

#include <ATen/ops/empty.h>

#include "worker/strategy/tensor_bytes.h"

namespace trainctl::strategy {

UnitGatherer::UnitGatherer(const std::vector<at::Tensor>& shards, comm::Communicator& comm, Residency residency)
    : shards_(shards),
      comm_(comm),
      residency_(residency),
      whole_(shards.size()),
      under_way_(shards.size()),
      passes_(shards.size(), ops::Pass::kForward) {}

void UnitGatherer::BeginMicroStep(bool last) {
  last_micro_step_ = last;
  last_use_.reset();
  if (first_use_ && residency_ != Residency::kModel) Start(first_use_->first);
}

void UnitGatherer::Start(ops::UnitId unit) {
  if (whole_[unit].defined() || shards_[unit].numel() == 0) return;
  whole_[unit] = at::empty({shards_[unit].numel() * comm_.world_size()}, shards_[unit].options());
  under_way_[unit] = comm_.AllGather(whole_[unit], shards_[unit]);
}

void UnitGatherer::Arrive(ops::UnitId unit) {
  if (under_way_[unit]) comm_.Wait(*under_way_[unit]);
  under_way_[unit].reset();
}

void UnitGatherer::Drop(ops::UnitId unit) {
  Arrive(unit);
  whole_[unit].reset();
}

// The next use of another unit. (A unit's recomputation and its backward follow each other.)
void UnitGatherer::StartNext(Use use) {
  for (int hops = 0; hops < 2; ++hops) {
    const auto next = next_.find(use);
    if (next == next_.end()) return;
    use = next->second;
    if (!whole_[use.first].defined()) return Start(use.first);
  }
}

const at::Tensor& UnitGatherer::Whole(ops::UnitId unit) {
  const Use use{unit, passes_[unit]};
  if (residency_ == Residency::kModel) {
    for (ops::UnitId each = 0; each < static_cast<ops::UnitId>(shards_.size()); ++each) Start(each);
  }
  Start(unit);
  Arrive(unit);
  if (last_use_ == use) return whole_[unit];
  if (last_use_) {
    next_.insert_or_assign(*last_use_, use);
  } else {
    first_use_ = use;
  }
  last_use_ = use;
  if (residency_ != Residency::kModel) StartNext(use);
  return whole_[unit];
}

const at::Tensor& UnitGatherer::WholeAlone(ops::UnitId unit) {
  if (!whole_[unit].defined()) Release();
  Start(unit);
  Arrive(unit);
  return whole_[unit];
}

void UnitGatherer::EndUnit(ops::UnitId unit, ops::Pass pass) {
  if (pass == ops::Pass::kRecompute || residency_ == Residency::kModel) return;  // its backward follows at once
  const bool done = residency_ == Residency::kUse || (pass == ops::Pass::kBackward && last_micro_step_);
  if (done && whole_[unit].defined()) Drop(unit);
}

void UnitGatherer::Release() {
  for (ops::UnitId unit = 0; unit < static_cast<ops::UnitId>(whole_.size()); ++unit) Drop(unit);
  last_use_.reset();
}

int64_t UnitGatherer::HeldBytes() const { return Bytes(whole_); }

}  // namespace trainctl::strategy
