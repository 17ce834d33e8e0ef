#include "worker/rank/model/opt.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/clamp_max.h>

#include "common/base/check.h"
#include "worker/rank/model/hidden_dropout.h"

namespace trainctl::model {
namespace {

// Padding may reach beyond the table; its rows count in no loss.
at::Tensor PositionRows(const job::ModelShape& shape, const ModelOptions& options) {
  const auto int64 = at::TensorOptions().device(options.device).dtype(at::kLong);
  return at::clamp_max(
      at::arange(job::kPositionOffset, job::kPositionOffset + options.max_length, int64),
      job::kPositionOffset + shape.max_positions - 1);
}

}  // namespace

Opt::Block Opt::BuildBlock(ops::UnitId unit, LinearBuilder& linears,
                           const job::ModelDescription& model, int64_t number) const {
  const std::string prefix = model.BlockPrefix(number);
  Block block;
  const auto linear = [&](const job::Layer& layer) {
    return linears.Add(unit, prefix, layer, options_.quantize);
  };
  for (const job::Layer& layer : model.block) {
    switch (layer.role) {
      case job::LayerRole::kInputNorm:
        block.attention_norm = linears.AddNorm(unit, prefix, layer);
        break;
      case job::LayerRole::kQkv: block.qkv = linear(layer); break;
      case job::LayerRole::kAttentionOut: block.out = linear(layer); break;
      case job::LayerRole::kPostNorm: block.ffn_norm = linears.AddNorm(unit, prefix, layer); break;
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
    : Decoder(shape, options), position_rows_(PositionRows(shape, options)) {
  const job::ModelDescription model = job::Describe(shape);
  TableBuilder builder;
  LinearBuilder linears(builder, shape, options);
  if (shape.image) encoder_.emplace(builder, linears, shape, options);
  linears.BeginPart(job::ModelPart::kLanguage);
  AddEmbedding(builder, linears, model);
  positions_ = AddTable(builder, linears, model.embedding.back());
  for (int64_t number = 0; number < model.layers; ++number)
    blocks_.push_back(BuildBlock(AddBlock(builder), linears, model, number));
  AddHead(builder, linears, model);
}

ops::Var Opt::RunBlock(ops::Context& context, size_t number, const ops::Var& x,
                       const BlockRows& rows) const {
  const Block& block = blocks_[number];
  const ops::Var qkv = ops::NormLinear(context, x, block.attention_norm, block.qkv);
  const ops::Var attended = ops::SelfAttention(context, qkv, {}, {}, rows.heads, {}, rows.cached);
  const ops::Var middle =
      ops::LinearResidual(context, attended, block.out, x, block.attention_dropout);
  const ops::Var up = ops::NormLinearRelu(context, middle, block.ffn_norm, block.up);
  return ops::ReluLinearResidual(context, up, block.down, middle, block.ffn_dropout);
}

ops::Var Opt::Encode(ops::Context& context, const MicroBatch& batch) const {
  const bool is_behind_picture = batch.cache != nullptr && !batch.images.defined();
  return encoder_ && !is_behind_picture ? encoder_->Encode(context, batch) : ops::Var{};
}

ops::Var Opt::Embed(ops::Context& context, const MicroBatch& batch, const ops::Var& leading) const {
  const ops::LearnedPositions positions{positions_, AtPositions(position_rows_, batch)};
  return ops::PositionedEmbedding(context, embedding_, batch.inputs, positions, frozen_, leading);
}

}  // namespace trainctl::model
