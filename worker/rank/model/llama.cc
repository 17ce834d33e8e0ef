#include "worker/rank/model/llama.h"

#include "common/base/check.h"
#include "common/model/model_description.h"
#include "worker/rank/model/rotary_tables.h"

namespace trainctl::model {

Llama::Block Llama::BuildBlock(TableBuilder& table, LinearBuilder& linears,
                               const job::ModelDescription& model, int64_t number) const {
  const std::string prefix = model.BlockPrefix(number);
  Block block;
  block.unit = table.Unit("block." + std::to_string(number));
  const auto norm = [&](const job::Layer& layer) {
    return linears.AddNorm(block.unit, prefix, layer).weight;
  };
  const auto linear = [&](const job::Layer& layer) {
    return linears.Add(block.unit, prefix, layer, options_.quantize);
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

Llama::Llama(const job::ModelShape& shape, const ModelOptions& options)
    : shape_(shape), options_(options) {
  const job::ModelDescription model = job::Describe(shape);
  TableBuilder builder;
  LinearBuilder linears(builder, shape, options.lora);
  const job::Layer& embedding = model.embedding.front();
  embedding_unit_ = builder.Unit("embedding", model.tied_head ? 2 : 1);
  embedding_ = builder.Matrix(embedding_unit_, embedding.modules[0].path + ".weight",
                              embedding.rows(), embedding.columns, linears.OwnMatrix());
  for (int64_t number = 0; number < model.layers; ++number)
    blocks_.push_back(BuildBlock(builder, linears, model, number));
  head_unit_ = builder.Unit("head");
  final_norm_ = linears.AddNorm(head_unit_, "", model.head.front());
  head_ = model.tied_head
              ? ops::LinearParams{.weights = {embedding_}, .frozen = options.lora.has_value()}
              : linears.Add(head_unit_, "", model.head.back(), /*quantized=*/false);
  table_ = builder.Take();

  const RotaryTables tables = MakeRotaryTables(shape, options.max_length);
  cos_ = tables.cos.to(options.device);
  sin_ = tables.sin.to(options.device);
}

ops::Var Llama::RunBlock(ops::Context& context, const Block& block, const ops::Var& x,
                         const ops::HeadShape& heads) const {
  const at::Tensor cos = cos_.narrow(0, 0, heads.length), sin = sin_.narrow(0, 0, heads.length);
  const ops::Var qkv = ops::NormLinear(context, x, block.input_norm, block.qkv);
  const ops::Var attended = ops::SelfAttention(context, qkv, cos, sin, heads, block.head_norms);
  const ops::Var middle = ops::LinearResidual(context, attended, block.out, x);
  const ops::Var gate_up = ops::NormLinear(context, middle, block.post_norm, block.gate_up);
  return ops::SwiGluLinearResidual(context, gate_up, block.down, middle);
}

ops::Var Llama::Hidden(ops::Context& context, const MicroBatch& batch) const {
  const ops::HeadShape heads{batch.rows, batch.length, shape_.heads, shape_.kv_heads,
                             shape_.head_dim};
  ops::Var x = ops::InUnit(context, embedding_unit_, {}, false,
                           [this, ids = batch.inputs](ops::Context& c, const ops::Var&) {
                             return ops::Embedding(c, embedding_, ids, options_.lora.has_value());
                           });
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const bool recompute = options_.checkpoint_every > 0 && i % options_.checkpoint_every == 0;
    x = ops::InUnit(context, blocks_[i].unit, x, recompute,
                    [this, &block = blocks_[i], heads](ops::Context& c, const ops::Var& in) {
                      return RunBlock(c, block, in, heads);
                    });
  }
  return x;
}

void Llama::Loss(ops::Context& context, const MicroBatch& batch) const {
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
