#include "worker/rank/strategy/unit_gatherer.h"

#include <ATen/ops/empty.h>

#include <utility>

#include "worker/rank/strategy/tensor_bytes.h"

namespace trainctl::strategy {

UnitGatherer::UnitGatherer(comm::SharedShards& shards, comm::Communicator& comm,
                           Residency residency)
    : shards_(shards),
      comm_(comm),
      residency_(residency),
      whole_(shards.shards().size()),
      under_way_(whole_.size()),
      passes_(whole_.size(), ops::Pass::kForward),
      asked_(whole_.size(), false) {}

void UnitGatherer::BeginMicroStep(bool last) {
  last_micro_step_ = last;
  if (first_use_ && residency_ != Residency::kModel) Start(first_use_->first);
}

void UnitGatherer::Start(ops::UnitId unit) {
  const at::Tensor& shard = shards_.shards()[unit];
  if (whole_[unit].defined() || shard.numel() == 0) return;
  if (!std::exchange(published_, true)) shards_.Publish();
  whole_[unit] = at::empty({shard.numel() * comm_.world_size()}, shard.options());
  under_way_[unit] = shards_.Gather(static_cast<size_t>(unit), whole_[unit]);
}

void UnitGatherer::Arrive(ops::UnitId unit) {
  if (under_way_[unit]) comm_.Wait(*under_way_[unit]);
  under_way_[unit].reset();
}

void UnitGatherer::Drop(ops::UnitId unit) {
  Arrive(unit);
  whole_[unit].reset();
}

// The use that is to follow, with the same weights: a step's last use has none.
std::optional<UnitGatherer::Use> UnitGatherer::Next(Use use) const {
  const auto next = next_.find(use);
  if (next == next_.end() || (last_micro_step_ && next->second == first_use_)) return std::nullopt;
  return next->second;
}

// One of the next two uses is of this unit.
bool UnitGatherer::IsUsedAgain(Use use) const {
  std::optional<Use> next = Next(use);
  if (next && next->first != use.first) next = Next(*next);
  return next && next->first == use.first;
}

// Of the next use of another unit. (A unit's recomputation and its backward follow each other.)
void UnitGatherer::StartNext(Use use) {
  std::optional<Use> next = Next(use);
  if (next && next->first == use.first) next = Next(*next);
  if (next) Start(next->first);
}

const at::Tensor& UnitGatherer::Whole(ops::UnitId unit) {
  const Use use{unit, passes_[unit]};
  if (residency_ == Residency::kModel) {
    for (ops::UnitId each = 0; each < static_cast<ops::UnitId>(whole_.size()); ++each) Start(each);
  }
  Start(unit);
  Arrive(unit);
  asked_[unit] = true;
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
  if (pass == ops::Pass::kRecompute || residency_ == Residency::kModel)
    return;                             // its backward follows at once
  const bool was_asked = asked_[unit];  // else what is whole was gathered ahead for a later use
  asked_[unit] = false;
  const bool done = residency_ == Residency::kUse
                        ? was_asked && !IsUsedAgain({unit, pass})
                        : pass == ops::Pass::kBackward && last_micro_step_;
  if (done && whole_[unit].defined()) Drop(unit);
}

void UnitGatherer::Release() {
  for (ops::UnitId unit = 0; unit < static_cast<ops::UnitId>(whole_.size()); ++unit) Drop(unit);
  published_ = false;
  last_use_.reset();
  last_micro_step_ = false;
}

int64_t UnitGatherer::HeldBytes() const { return Bytes(whole_); }

}  // namespace trainctl::strategy
