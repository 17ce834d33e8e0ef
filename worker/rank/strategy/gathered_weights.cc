#include "worker/rank/strategy/gathered_weights.h"

#include "worker/rank/strategy/shard.h"
#include "worker/rank/strategy/tensor_bytes.h"

namespace trainctl::strategy {
GatheredWeights::GatheredWeights(const ops::ParameterTable& table, const FlatLayout::Group& group,
                                 const at::TensorOptions& options, comm::Communicator& comm,
                                 Residency residency)
    : table_(table),
      comm_(comm),
      layout_(table, group, comm.world_size()),
      shards_(comm.MakeShards(layout_.shard_numels(), options)),
      gatherer_(*shards_, comm, residency) {}

at::Tensor GatheredWeights::Weight(ops::ParamId param) {
  return layout_.View(gatherer_.Whole(table_.params[param].unit), param);
}

at::Tensor GatheredWeights::GetRows(ops::ParamId param) {
  return layout_.View(gatherer_.WholeAlone(table_.params[param].unit), param);
}

void GatheredWeights::SetRows(ops::ParamId param, int64_t row, const at::Tensor& values) {
  const ops::ParamSpec& spec = table_.params[param];
  CopyIntoShard(shards_->shards()[spec.unit], comm_.rank() * layout_.shard_numel(spec.unit),
                layout_.offset(param) + row * spec.columns(), values);
}

int64_t GatheredWeights::HeldBytes() const {
  return Bytes(shards_->shards()) + gatherer_.HeldBytes();
}

}  // namespace trainctl::strategy
