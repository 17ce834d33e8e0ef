#include "worker/rank/strategy/gathered_weights.h"

#include <ATen/ops/zeros.h>

#include "worker/rank/strategy/shard.h"
#include "worker/rank/strategy/tensor_bytes.h"

namespace trainctl::strategy {
namespace {

std::vector<at::Tensor> Zeros(const FlatLayout& layout, const at::TensorOptions& options) {
  std::vector<at::Tensor> shards;
  for (ops::UnitId unit = 0; unit < layout.units(); ++unit)
    shards.push_back(at::zeros({layout.shard_numel(unit)}, options));
  return shards;
}

}  // namespace

GatheredWeights::GatheredWeights(const ops::ParameterTable& table, const FlatLayout::Group& group,
                                 const at::TensorOptions& options, comm::Communicator& comm,
                                 Residency residency)
    : table_(table),
      comm_(comm),
      layout_(table, group, comm.world_size()),
      shards_(Zeros(layout_, options)),
      gatherer_(shards_, comm, residency) {}

at::Tensor GatheredWeights::Weight(ops::ParamId param) {
  return layout_.View(gatherer_.Whole(table_.params[param].unit), param);
}

at::Tensor GatheredWeights::GetRows(ops::ParamId param) {
  return layout_.View(gatherer_.WholeAlone(table_.params[param].unit), param);
}

void GatheredWeights::SetRows(ops::ParamId param, int64_t row, const at::Tensor& values) {
  const ops::ParamSpec& spec = table_.params[param];
  CopyIntoShard(shards_[spec.unit], comm_.rank() * layout_.shard_numel(spec.unit),
                layout_.offset(param) + row * spec.columns(), values);
}

int64_t GatheredWeights::HeldBytes() const { return Bytes(shards_) + gatherer_.HeldBytes(); }

}  // namespace trainctl::strategy
