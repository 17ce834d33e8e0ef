#include "worker/rank/model/llama.h"

#include "common/base/check.h"

namespace trainctl::model {

Llama::Block Llama::BuildBlock(ops::UnitId unit, LinearBuilder& linears,
                               const job::ModelDescription& model, int64_t number) const {
  const std::string prefix = model.BlockPrefix(number);
  Block block;
  const auto norm = [&](const job::Layer& layer) {
    return linears.AddNorm(unit, prefix, layer).weight;
  };
  const auto linear = [&](const job::Layer& layer) {
    return linears.Add(unit, prefix, layer, options_.quantize);
  };
  for (const job::Layer& layer : model.block) {
    switch (layer.role) {
      case job::LayerRole::kInputNorm: block.input_norm = norm(layer); break;
      case job::LayerRole::kQkv: block.qkv = linear(layer); break;
      case job::LayerRole::kQNorm: block.head_norms.emplace().q = norm(layer); break;
      case job::LayerRole::kKNorm: block.head_norms.value().k = norm(layer); break;
      case job::LayerRole::kAttentionOut: block.out = linear(layer); break;
      case job::LayerRole::kPostNorm: block.post_norm = norm(layer); break;
      case job::LayerRole::kGateUp: block.gate_up = linear(layer); break;
      case job::LayerRole::kDown: block.down = linear(layer); break;
      default: CHECK(false) << "no layer of a block: " << layer.modules[0].path;
    }
  }
  return block;
}

Llama::Llama(const job::ModelShape& shape, const ModelOptions& options) : Decoder(shape, options) {
  const job::ModelDescription model = job::Describe(shape);
  TableBuilder builder;
  LinearBuilder linears(builder, shape, options);
  AddEmbedding(builder, linears, model);
  for (int64_t number = 0; number < model.layers; ++number)
    blocks_.push_back(BuildBlock(AddBlock(builder), linears, model, number));
  AddHead(builder, linears, model);
  rotation_ = Rotation(shape, options.max_length, options.device);
}

ops::Var Llama::Embed(ops::Context& context, const MicroBatch& batch, const ops::Var&) const {
  return ops::Embedding(context, embedding_, batch.inputs, frozen_);
}

ops::Var Llama::RunBlock(ops::Context& context, size_t number, const ops::Var& x,
                         const BlockRows& rows) const {
  const Block& block = blocks_[number];
  const ops::Var qkv = ops::NormLinear(context, x, block.input_norm, block.qkv);
  const ops::Var attended = ops::SelfAttention(context, qkv, rows.rotation.cos, rows.rotation.sin,
                                               rows.heads, block.head_norms, rows.cached);
  const ops::Var middle = ops::LinearResidual(context, attended, block.out, x);
  const ops::Var gate_up = ops::NormLinear(context, middle, block.post_norm, block.gate_up);
  return ops::SwiGluLinearResidual(context, gate_up, block.down, middle);
}

}  // namespace trainctl::model
