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

ops::Var Decoder::Hidden(ops::Context& context, const MicroBatch& batch) const {
  const ops::HeadShape heads{batch.rows, batch.length, shape_.heads, shape_.kv_heads,
                             shape_.head_dim};
  ops::KvCache* const cache = batch.cache;
  ops::Var x = ops::InUnit(
      context, embedding_unit_, Encode(context, batch), false,
      [&](ops::Context& c, const ops::Var& leading) { return Embed(c, batch, leading); });
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const bool recompute = options_.checkpoint_every > 0 && i % options_.checkpoint_every == 0;
    x = ops::InUnit(context, blocks_[i], x, recompute,
                    [this, i, heads, cache](ops::Context& c, const ops::Var& in) {
                      return RunBlock(c, i, in, {heads, {cache, static_cast<int64_t>(i)}});
                    });
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

at::Tensor Decoder::AtPositions(const at::Tensor& table, int64_t length,
                                const ops::KvCache* cache) {
  return cache == nullptr ? table.narrow(0, 0, length)
                          : at::index_select(table, 0, cache->positions());
}

}  // namespace trainctl::model
