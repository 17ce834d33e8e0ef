#include "worker/rank/strategy/sharded.h"

#include <ATen/ops/empty.h>

#include <utility>

namespace trainctl::strategy {

Residency ResidencyOf(const job::JobSpec& job) {
  if (job.fsdp_unit == job::FsdpUnit::kModel) return Residency::kModel;
  return job.sharding == job::Sharding::kGradOp ? Residency::kStep : Residency::kUse;
}

Sharded::Sharded(const ops::ParameterTable& table, const StrategyOptions& options,
                 std::vector<std::unique_ptr<WeightStore>> frozen)
    : UnitStrategy(table, options, std::move(frozen), options.comm->world_size(),
                   options.comm->rank()),
      gatherer_(shared(), *options.comm, ResidencyOf(options.job)) {}

void Sharded::FinishLoading() {
  UnitStrategy::FinishLoading();
  gatherer_.Release();
}

void Sharded::EndUses() {
  gatherer_.Release();
  whole_masters_.reset();
  whole_masters_unit_ = -1;
}

at::Tensor Sharded::WholeMasters(ops::UnitId unit) {
  if (whole_masters_unit_ != unit) {
    const at::Tensor shard = masters()[unit].to(options_.device);
    whole_masters_ = at::empty({layout_.numel(unit)}, shard.options());
    options_.comm->Wait(options_.comm->AllGather(whole_masters_, shard));
    whole_masters_unit_ = unit;
  }
  return whole_masters_;
}

std::optional<comm::Communicator::Ticket> Sharded::StartReduction(const at::Tensor& leased,
                                                                  at::Tensor& part) {
  part = at::empty({leased.numel() / options_.comm->world_size()}, leased.options());
  return options_.comm->ReduceScatter(part, leased);
}

void Sharded::ReduceNorm(const at::Tensor& norm_squared) {
  options_.comm->Wait(options_.comm->AllReduce(norm_squared));
}

}  // namespace trainctl::strategy
