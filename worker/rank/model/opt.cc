#include "worker/rank/model/opt.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/clamp_max.h>

#include "common/base/check.h"

namespace trainctl::model {
namespace {

// Dropouts of hidden states are counted apart from those of adapters, whose numbers begin at 0.
constexpr uint32_t kFirstHiddenDropout = uint32_t{1} << 31;

// Padding may reach beyond the table; its rows count in no loss.
at::Tensor PositionRows(const job::ModelShape& shape, const ModelOptions& options) {
  const auto int64 = at::TensorOptions().device(options.device).dtype(at::kLong);
  return at::clamp_max(
      at::arange(job::kPositionOffset, job::kPositionOffset + options.max_length, int64),
      job::kPositionOffset + shape.max_positions - 1);
}

}  // namespace

Opt::Block Opt::BuildBlock(TableBuilder& table, LinearBuilder& linears,
                           const job::ModelDescription& model, int64_t number) const {
  const std::string prefix = model.BlockPrefix(number);
  Block block;
  block.unit = table.Unit("block." + std::to_string(number));
  const auto linear = [&](const job::Layer& layer) {
    return linears.Add(block.unit, prefix, layer, options_.quantize);
  };
  for (const job::Layer& layer : model.block) {
    switch (layer.role) {
      case job::LayerRole::kInputNorm:
        block.attention_norm = linears.AddNorm(block.unit, prefix, layer);
        break;
      case job::LayerRole::kQkv: block.qkv = linear(layer); break;
      case job::LayerRole::kAttentionOut: block.out = linear(layer); break;
      case job::LayerRole::kPostNorm:
        block.ffn_norm = linears.AddNorm(block.unit, prefix, layer);
        break;
      case job::LayerRole::kUp: block.up = linear(layer); break;
      case job::LayerRole::kDown: block.down = linear(layer); break;
      default: CHECK(false) << "no layer of a block: " << layer.modules[0].path;
    }
  }
  const uint32_t module = kFirstHiddenDropout + 2 * static_cast<uint32_t>(number);
  block.attention_dropout = {shape_.dropout, module};
  block.ffn_dropout = {shape_.dropout, module + 1};
  return block;
}

Opt::Opt(const job::ModelShape& shape, const ModelOptions& options)
    : shape_(shape), options_(options), position_rows_(PositionRows(shape, options)) {
  const job::ModelDescription model = job::Describe(shape);
  TableBuilder builder;
  LinearBuilder linears(builder, shape, options.lora);
  embedding_unit_ = builder.Unit("embedding", model.tied_head ? 2 : 1);
  const auto table = [&](const job::Layer& layer) {
    return builder.Matrix(embedding_unit_, layer.modules[0].path + ".weight", layer.rows(),
                          layer.columns, linears.OwnMatrix());
  };
  embedding_ = table(model.embedding.front());
  positions_ = table(model.embedding.back());
  for (int64_t number = 0; number < model.layers; ++number)
    blocks_.push_back(BuildBlock(builder, linears, model, number));
  head_unit_ = builder.Unit("head");
  final_norm_ = linears.AddNorm(head_unit_, "", model.head.front());
  head_ = model.tied_head
              ? ops::LinearParams{.weights = {embedding_}, .frozen = options.lora.has_value()}
              : linears.Add(head_unit_, "", model.head.back(), /*quantized=*/false);
  table_ = builder.Take();
}

ops::Var Opt::RunBlock(ops::Context& context, const Block& block, const ops::Var& x,
                       const ops::HeadShape& heads) const {
  const ops::Var qkv = ops::NormLinear(context, x, block.attention_norm, block.qkv);
  const ops::Var attended = ops::SelfAttention(context, qkv, {}, {}, heads);
  const ops::Var middle =
      ops::LinearResidual(context, attended, block.out, x, block.attention_dropout);
  const ops::Var up = ops::NormLinear(context, middle, block.ffn_norm, block.up);
  return ops::ReluLinearResidual(context, up, block.down, middle, block.ffn_dropout);
}

ops::Var Opt::Embed(ops::Context& context, const MicroBatch& batch) const {
  const ops::LearnedPositions positions{positions_, position_rows_.narrow(0, 0, batch.length)};
  return ops::InUnit(context, embedding_unit_, {}, false, [&](ops::Context& c, const ops::Var&) {
    return ops::PositionedEmbedding(c, embedding_, batch.inputs, positions,
                                    options_.lora.has_value());
  });
}

ops::Var Opt::Hidden(ops::Context& context, const MicroBatch& batch) const {
  const ops::HeadShape heads{batch.rows, batch.length, shape_.heads, shape_.kv_heads,
                             shape_.head_dim};
  ops::Var x = Embed(context, batch);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const bool recompute = options_.checkpoint_every > 0 && i % options_.checkpoint_every == 0;
    x = ops::InUnit(context, blocks_[i].unit, x, recompute,
                    [this, &block = blocks_[i], heads](ops::Context& c, const ops::Var& in) {
                      return RunBlock(c, block, in, heads);
                    });
  }
  return x;
}

void Opt::Loss(ops::Context& context, const MicroBatch& batch) const {
  const ops::Var x = Hidden(context, batch);
  std::vector<ops::UnitId> units{head_unit_};
  if (shape_.tied_head) units.push_back(embedding_unit_);
  ops::NormHeadLoss(context, x,
                    {.norm = final_norm_,
                     .head = head_,
                     .units = units,
                     .targets = batch.targets,
                     .loss_sum = batch.loss_sum,
                     .grad_scale = batch.grad_scale});
}

}  // namespace trainctl::model
