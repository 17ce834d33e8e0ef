#include "worker/rank/model/llama.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>

namespace trainctl::model {

Llama::Block Llama::BuildBlock(TableBuilder& table, LinearBuilder& linears, int64_t layer) const {
  const std::string prefix = "model.layers." + std::to_string(layer) + ".",
                    attention = prefix + "self_attn.", mlp = prefix + "mlp.";
  const int64_t hidden = shape_.hidden, ffn = shape_.intermediate;
  const int64_t q = shape_.heads * shape_.head_dim, kv = shape_.kv_heads * shape_.head_dim;
  Block block;
  block.unit = table.Unit("block." + std::to_string(layer));
  block.input_norm =
      table.Vector(block.unit, prefix + "input_layernorm.weight", hidden, linears.OwnNorm());
  block.qkv = linears.Add(block.unit,
                          {{"q", attention + "q_proj", q},
                           {"k", attention + "k_proj", kv},
                           {"v", attention + "v_proj", kv}},
                          hidden, options_.quantize);
  block.out = linears.Add(block.unit, {{"o", attention + "o_proj", hidden}}, q, options_.quantize);
  block.post_norm = table.Vector(block.unit, prefix + "post_attention_layernorm.weight", hidden,
                                 linears.OwnNorm());
  block.gate_up =
      linears.Add(block.unit, {{"gate", mlp + "gate_proj", ffn}, {"up", mlp + "up_proj", ffn}},
                  hidden, options_.quantize);
  block.down =
      linears.Add(block.unit, {{"down", mlp + "down_proj", hidden}}, ffn, options_.quantize);
  return block;
}

Llama::Llama(const job::ModelShape& shape, const ModelOptions& options)
    : shape_(shape), options_(options) {
  const int64_t hidden = shape.hidden;
  TableBuilder builder;
  LinearBuilder linears(builder, shape, options.lora);
  embedding_unit_ = builder.Unit("embedding", shape.tied_head ? 2 : 1);
  embedding_ = builder.Matrix(embedding_unit_, "model.embed_tokens.weight", shape.vocab, hidden,
                              linears.OwnMatrix());
  for (int64_t layer = 0; layer < shape.layers; ++layer)
    blocks_.push_back(BuildBlock(builder, linears, layer));
  head_unit_ = builder.Unit("head");
  final_norm_ = builder.Vector(head_unit_, "model.norm.weight", hidden, linears.OwnNorm());
  head_ = shape.tied_head
              ? ops::LinearParams{.weights = {embedding_}, .frozen = options.lora.has_value()}
              : linears.Add(head_unit_, {{"head", "lm_head", shape.vocab}}, hidden,
                            /*quantized=*/false);
  table_ = builder.Take();

  const auto fp32 = at::TensorOptions().dtype(at::kFloat);
  const at::Tensor exponents =
      at::arange(0, shape.head_dim, 2, fp32) / static_cast<double>(shape.head_dim);
  const at::Tensor angles = at::outer(at::arange(options.max_length, fp32),
                                      at::pow(shape.rope_theta, exponents).reciprocal());
  cos_ = angles.cos().to(options.device);
  sin_ = angles.sin().to(options.device);
}

ops::Var Llama::RunBlock(ops::Context& context, const Block& block, const ops::Var& x,
                         const ops::HeadShape& heads) const {
  const at::Tensor cos = cos_.narrow(0, 0, heads.length), sin = sin_.narrow(0, 0, heads.length);
  const ops::Var qkv = ops::NormLinear(context, x, block.input_norm, block.qkv);
  const ops::Var attended = ops::SelfAttention(context, qkv, cos, sin, heads);
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
