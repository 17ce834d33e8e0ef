#include "worker/rank/model/picture_encoder.h"

#include "common/base/check.h"
#include "worker/rank/model/hidden_dropout.h"

namespace trainctl::model {
namespace {

// What ops of a part are given: its norms' epsilon, and samples of so many rows to drop of.
ops::Context Within(const ops::Context& context, double norm_eps, int64_t rows) {
  ops::Context own = context;
  own.norm_eps = norm_eps;
  own.dropout.length = rows;
  return own;
}

}  // namespace

PictureEncoder::PictureEncoder(TableBuilder& table, LinearBuilder& linears,
                               const job::ModelShape& shape, const ModelOptions& options)
    : shape_(*shape.image), checkpoint_every_(options.checkpoint_every) {
  for (const job::EncoderUnit& unit : job::Describe(shape).encoder) {
    linears.BeginPart(unit.part);
    Add(unit, table.Unit(unit.name), linears, options.quantize);
  }
}

void PictureEncoder::Add(const job::EncoderUnit& unit, ops::UnitId id, LinearBuilder& linears,
                         bool quantize) {
  if (unit.is_block) {
    return unit.part == job::ModelPart::kVision ? AddVisionBlock(unit, id, linears, quantize)
                                                : AddQueryBlock(unit, id, linears, quantize);
  }
  for (const job::Layer& layer : unit.layers) {
    switch (layer.role) {
      case job::LayerRole::kClass:
        vision_embedding_unit_ = id;
        patches_.class_row = linears.AddRows(id, layer);
        break;
      case job::LayerRole::kPositions: patches_.positions = linears.AddRows(id, layer); break;
      case job::LayerRole::kPatches:
        patches_.patches = linears.Add(id, unit.prefix, layer, /*quantized=*/false);
        patches_.side = shape_.patch;
        break;
      case job::LayerRole::kFinalNorm:
        vision_norm_unit_ = id;
        vision_norm_ = linears.AddNorm(id, unit.prefix, layer);
        break;
      case job::LayerRole::kQueries:
        query_embedding_unit_ = id;
        queries_ = linears.AddRows(id, layer);
        break;
      case job::LayerRole::kInputNorm:
        query_norm_ = linears.AddNorm(id, unit.prefix, layer);
        query_dropout_ = NextDropout(shape_.qformer_dropout);
        break;
      case job::LayerRole::kProjection:
        projection_unit_ = id;
        projection_ = linears.Add(id, unit.prefix, layer, /*quantized=*/false);
        break;
      default: CHECK(false) << "no layer of " << unit.name << ": " << layer.modules[0].path;
    }
  }
}

void PictureEncoder::AddVisionBlock(const job::EncoderUnit& unit, ops::UnitId id,
                                    LinearBuilder& linears, bool quantize) {
  VisionBlock block;
  const auto linear = [&](const job::Layer& layer) {
    return linears.Add(id, unit.prefix, layer, quantize);
  };
  const auto norm = [&](const job::Layer& layer) {
    return linears.AddNorm(id, unit.prefix, layer);
  };
  for (const job::Layer& layer : unit.layers) {
    switch (layer.role) {
      case job::LayerRole::kInputNorm: block.attention_norm = norm(layer); break;
      case job::LayerRole::kQkv: block.qkv = linear(layer); break;
      case job::LayerRole::kAttentionOut: block.out = linear(layer); break;
      case job::LayerRole::kPostNorm: block.ffn_norm = norm(layer); break;
      case job::LayerRole::kUp: block.up = linear(layer); break;
      case job::LayerRole::kDown: block.down = linear(layer); break;
      default: CHECK(false) << "no layer of " << unit.name << ": " << layer.modules[0].path;
    }
  }
  vision_units_.push_back(id);
  vision_blocks_.push_back(std::move(block));
}

void PictureEncoder::AddQueryBlock(const job::EncoderUnit& unit, ops::UnitId id,
                                   LinearBuilder& linears, bool quantize) {
  QueryBlock block;
  if (unit.reads_image) block.cross.emplace();
  const auto linear = [&](const job::Layer& layer) {
    return linears.Add(id, unit.prefix, layer, quantize);
  };
  const auto norm = [&](const job::Layer& layer) {
    return linears.AddNorm(id, unit.prefix, layer);
  };
  for (const job::Layer& layer : unit.layers) {
    switch (layer.role) {
      case job::LayerRole::kQuery: block.own.query = linear(layer); break;
      case job::LayerRole::kKeyValue: block.own.key_value = linear(layer); break;
      case job::LayerRole::kAttentionOut: block.own.out = linear(layer); break;
      case job::LayerRole::kPostNorm: block.own.norm = norm(layer); break;
      case job::LayerRole::kCrossQuery: block.cross.value().query = linear(layer); break;
      case job::LayerRole::kCrossKeyValue: block.cross.value().key_value = linear(layer); break;
      case job::LayerRole::kCrossOut: block.cross.value().out = linear(layer); break;
      case job::LayerRole::kCrossNorm: block.cross.value().norm = norm(layer); break;
      case job::LayerRole::kUp: block.up = linear(layer); break;
      case job::LayerRole::kDown: block.down = linear(layer); break;
      case job::LayerRole::kFinalNorm: block.norm = norm(layer); break;
      default: CHECK(false) << "no layer of " << unit.name << ": " << layer.modules[0].path;
    }
  }
  for (Attention* attention : {&block.own, block.cross ? &*block.cross : nullptr}) {
    if (attention == nullptr) continue;
    attention->probabilities = NextDropout(shape_.qformer_attention_dropout);
    attention->hidden = NextDropout(shape_.qformer_dropout);
  }
  block.hidden = NextDropout(shape_.qformer_dropout);
  query_units_.push_back(id);
  query_blocks_.push_back(std::move(block));
}

ops::OutputDropout PictureEncoder::NextDropout(double probability) {
  return {probability, kFirstEncoderDropout + dropouts_++};
}

ops::Var PictureEncoder::Encode(ops::Context& context, const MicroBatch& batch) const {
  CHECK(batch.images.defined() && batch.images.size(0) == batch.rows) << "rows without pictures";
  const ops::Var features = EncodeVision(context, batch);
  const ops::Var queried = Query(context, features, batch.rows);
  return ops::InUnit(
      context, projection_unit_, queried, false,
      [this](ops::Context& c, const ops::Var& x) { return ops::Linear(c, x, projection_); });
}

ops::Var PictureEncoder::EncodeVision(ops::Context& outer, const MicroBatch& batch) const {
  ops::Context context = Within(outer, shape_.vision_norm_eps, shape_.positions());
  ops::Var x = ops::InUnit(context, vision_embedding_unit_, ops::Var{}, false,
                           [&](ops::Context& c, const ops::Var&) {
                             return ops::EmbedPatches(c, patches_, batch.images);
                           });
  for (size_t i = 0; i < vision_blocks_.size(); ++i) {
    x = ops::InUnit(context, vision_units_[i], x, Recomputes(i),
                    [this, i, rows = batch.rows](ops::Context& c, const ops::Var& in) {
                      return RunVisionBlock(c, vision_blocks_[i], in, rows);
                    });
  }
  return ops::InUnit(
      context, vision_norm_unit_, x, false,
      [this](ops::Context& c, const ops::Var& in) { return ops::Norm(c, in, vision_norm_); });
}

ops::Var PictureEncoder::RunVisionBlock(ops::Context& context, const VisionBlock& block,
                                        const ops::Var& x, int64_t batch) const {
  const int64_t heads = shape_.vision_heads, head_dim = shape_.vision_hidden / heads;
  const ops::HeadShape shape{batch, shape_.positions(), heads,
                             heads, head_dim,           /*is_causal=*/false};
  const ops::Var qkv = ops::NormLinear(context, x, block.attention_norm, block.qkv);
  const ops::Var attended = ops::SelfAttention(context, qkv, {}, {}, shape);
  const ops::Var middle = ops::LinearResidual(context, attended, block.out, x);
  const ops::Var up = ops::NormLinear(context, middle, block.ffn_norm, block.up);
  return ops::GeluLinearResidual(context, up, block.down, middle);
}

ops::Var PictureEncoder::Query(ops::Context& outer, const ops::Var& features, int64_t batch) const {
  ops::Context context = Within(outer, shape_.qformer_norm_eps, shape_.queries);
  ops::Var x = ops::InUnit(
      context, query_embedding_unit_, ops::Var{}, false, [&](ops::Context& c, const ops::Var&) {
        return ops::EmbedQueries(c, queries_, query_norm_, batch, query_dropout_);
      });
  for (size_t i = 0; i < query_blocks_.size(); ++i) {
    const bool reads = query_blocks_[i].cross.has_value();
    x = ops::InUnit(context, query_units_[i], reads ? ops::Vars{x, features} : ops::Vars{x},
                    Recomputes(i), [this, i, batch](ops::Context& c, const ops::Vars& in) {
                      return RunQueryBlock(c, query_blocks_[i], in.front(), in.back(), batch);
                    });
  }
  return x;
}

ops::Var PictureEncoder::Attend(ops::Context& context, const Attention& attention,
                                const ops::Var& x, const ops::Var& source, int64_t batch) const {
  const int64_t heads = shape_.qformer_heads;
  const ops::Var q = ops::Linear(context, x, attention.query);
  // A sample has as many rows there as the source, of which an adapter drops.
  const int64_t keys = source.value.size(0) / batch;
  ops::Context of_source = Within(context, context.norm_eps, keys);
  const ops::Var key_value = ops::Linear(of_source, source, attention.key_value);
  const ops::Var attended = ops::CrossAttention(context, q, key_value,
                                                {.batch = batch,
                                                 .queries = shape_.queries,
                                                 .keys = keys,
                                                 .heads = heads,
                                                 .head_dim = shape_.qformer_hidden / heads},
                                                attention.probabilities);
  return ops::LinearResidualNorm(context, attended, attention.out, x, attention.norm,
                                 attention.hidden);
}

ops::Var PictureEncoder::RunQueryBlock(ops::Context& context, const QueryBlock& block,
                                       const ops::Var& x, const ops::Var& features,
                                       int64_t batch) const {
  ops::Var attended = Attend(context, block.own, x, x, batch);
  if (block.cross) attended = Attend(context, *block.cross, attended, features, batch);
  const ops::Var up = ops::Linear(context, attended, block.up);
  return ops::GeluLinearResidualNorm(context, up, block.down, attended, block.norm, block.hidden);
}

}  // namespace trainctl::model
