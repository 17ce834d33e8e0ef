#include "worker/rank/model/decoder.h"

#include <ATen/ops/index_select.h>

#include <string>

namespace trainctl::model {

void Decoder::AddEmbedding(TableBuilder& table, const LinearBuilder& linears,
                           const job::ModelDescription& model) {
  frozen_ = linears.frozen();
  embedding_unit_ = table.Unit("embedding", model.tied_head ? 2 : 1);
  embedding_ = AddTable(table, linears, model.embedding.front());
}

ops::ParamId Decoder::AddTable(TableBuilder& table, const LinearBuilder& linears,
                               const job::Layer& layer) const {
  return table.Matrix(embedding_unit_, layer.modules[0].path + ".weight", layer.rows(),
                      layer.columns, linears.OwnMatrix());
}

ops::UnitId Decoder::AddBlock(TableBuilder& table) {
  blocks_.push_back(table.Unit("block." + std::to_string(blocks_.size())));
  return blocks_.back();
}

void Decoder::AddHead(TableBuilder& table, LinearBuilder& linears,
                      const job::ModelDescription& model) {
  head_unit_ = table.Unit("head");
  final_norm_ = linears.AddNorm(head_unit_, "", model.head.front());
  head_ = model.tied_head ? ops::LinearParams{.weights = {embedding_}, .frozen = frozen_}
                          : linears.Add(head_unit_, "", model.head.back(), /*quantized=*/false);
  table_ = table.Take();
}

BlockRows Decoder::RowsOf(const MicroBatch& batch) const {
  BlockRows rows;
  rows.heads = {batch.rows, batch.length, shape_.heads, shape_.kv_heads, shape_.head_dim};
  if (batch.segments) {
    rows.heads.batch = 1;
    rows.heads.length = batch.rows * batch.length;
    rows.heads.segments = batch.segments;
  }
  rows.rotation = rotation_.At(batch);
  rows.cached.cache = batch.cache;
  return rows;
}

int64_t Decoder::WindowOf(const MicroBatch& batch, int64_t layer) const {
  const int64_t window = shape_.WindowOf(layer);
  return batch.cache == nullptr && batch.longest() <= window ? 0 : window;
}

ops::Var Decoder::Hidden(ops::Context& context, const MicroBatch& batch) const {
  BlockRows rows = RowsOf(batch);
  ops::Var x = ops::InUnit(
      context, embedding_unit_, Encode(context, batch), false,
      [&](ops::Context& c, const ops::Var& leading) { return Embed(c, batch, leading); });
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const bool recompute = options_.checkpoint_every > 0 && i % options_.checkpoint_every == 0;
    rows.cached.layer = static_cast<int64_t>(i);
    rows.heads.window = WindowOf(batch, rows.cached.layer);
    x = ops::InUnit(
        context, blocks_[i], x, recompute,
        [this, i, rows](ops::Context& c, const ops::Var& in) { return RunBlock(c, i, in, rows); });
  }
  return x;
}

ops::HeadLoss Decoder::Head() const {
  ops::HeadLoss head{.norm = final_norm_, .head = head_, .units = {head_unit_}};
  if (shape_.tied_head) head.units.push_back(embedding_unit_);
  return head;
}

void Decoder::Loss(ops::Context& context, const MicroBatch& batch) const {
  const ops::Var x = Hidden(context, batch);
  ops::HeadLoss loss = Head();
  loss.targets = batch.targets;
  loss.loss_sum = batch.loss_sum;
  loss.grad_scale = batch.grad_scale;
  ops::NormHeadLoss(context, x, loss);
}

at::Tensor Decoder::Logits(ops::Context& context, const MicroBatch& batch,
                           const at::Tensor& rows) const {
  const ops::Var x = Hidden(context, batch);
  return ops::NormHeadLogits(context, at::index_select(x.value, 0, rows), Head());
}

at::Tensor Decoder::AtPositions(const at::Tensor& table, const MicroBatch& batch) {
  if (!table.defined()) return {};
  if (batch.cache != nullptr) return at::index_select(table, 0, batch.cache->positions());
  if (batch.segments) return at::index_select(table, 0, batch.segments->positions);
  return table.narrow(0, 0, batch.length);
}

}  // namespace trainctl::model
