#include "common/model/model_description.h"

#include <numeric>
#include <utility>

#include "common/model/image_encoder.h"

namespace trainctl::job {
namespace {

Layer Norm(LayerRole role, std::string path, int64_t size) {
  return {.role = role, .modules = {{.path = std::move(path), .rows = size}}};
}

Layer LayerNorm(LayerRole role, std::string path, int64_t size) {
  Layer layer = Norm(role, std::move(path), size);
  layer.modules.front().has_bias = true;
  return layer;
}

Layer Matrix(LayerRole role, int64_t columns, std::vector<Module> modules) {
  return {.role = role, .modules = std::move(modules), .columns = columns, .is_matrix = true};
}

UnitLayers AttentionLayers(const ModelShape& m) {
  const int64_t q = m.heads * m.head_dim, kv = m.kv_heads * m.head_dim;
  UnitLayers layers = {Norm(LayerRole::kInputNorm, "input_layernorm", m.hidden),
                       Matrix(LayerRole::kQkv, m.hidden,
                              {{"self_attn.q_proj", q, "q", m.qkv_bias},
                               {"self_attn.k_proj", kv, "k", m.qkv_bias},
                               {"self_attn.v_proj", kv, "v", m.qkv_bias}})};
  if (m.head_norms) {
    layers.push_back(Norm(LayerRole::kQNorm, "self_attn.q_norm", m.head_dim));
    layers.push_back(Norm(LayerRole::kKNorm, "self_attn.k_norm", m.head_dim));
  }
  layers.push_back(
      Matrix(LayerRole::kAttentionOut, q, {{"self_attn.o_proj", m.hidden, "o", m.out_bias}}));
  return layers;
}

UnitLayers LlamaBlockLayers(const ModelShape& m) {
  UnitLayers layers = AttentionLayers(m);
  layers.push_back(Norm(LayerRole::kPostNorm, "post_attention_layernorm", m.hidden));
  layers.push_back(Matrix(LayerRole::kGateUp, m.hidden,
                          {{"mlp.gate_proj", m.intermediate, "gate", m.mlp_bias},
                           {"mlp.up_proj", m.intermediate, "up", m.mlp_bias}}));
  layers.push_back(
      Matrix(LayerRole::kDown, m.intermediate, {{"mlp.down_proj", m.hidden, "down", m.mlp_bias}}));
  return layers;
}

UnitLayers OptBlockLayers(const ModelShape& m) {
  return {
      LayerNorm(LayerRole::kInputNorm, "self_attn_layer_norm", m.hidden),
      Matrix(LayerRole::kQkv, m.hidden,
             {{"self_attn.q_proj", m.hidden, "q", true},
              {"self_attn.k_proj", m.hidden, "k", true},
              {"self_attn.v_proj", m.hidden, "v", true}}),
      Matrix(LayerRole::kAttentionOut, m.hidden, {{"self_attn.out_proj", m.hidden, "o", true}}),
      LayerNorm(LayerRole::kPostNorm, "final_layer_norm", m.hidden),
      Matrix(LayerRole::kUp, m.hidden, {{"fc1", m.intermediate, "up", true}}),
      Matrix(LayerRole::kDown, m.intermediate, {{"fc2", m.hidden, "down", true}}),
  };
}

// As worker/rank/ops/layers.h says of each.
SavedElements SavedOf(const Layer& layer, const ModelShape& m) {
  switch (layer.role) {
    case LayerRole::kInputNorm:
    case LayerRole::kPostNorm:  // input, 1 / rms; of LayerNorm also the mean
      return {.compute = m.hidden, .fp32 = layer.modules.front().has_bias ? 2 : 1};
    case LayerRole::kQNorm: return {.compute = m.heads * m.head_dim, .fp32 = m.heads};
    case LayerRole::kKNorm: return {.compute = m.kv_heads * m.head_dim, .fp32 = m.kv_heads};
    case LayerRole::kQkv: return {.compute = layer.rows()};  // output, rotated
    case LayerRole::kAttentionOut:
      return {.compute = layer.columns, .fp32 = m.heads};  // input, logsumexp of the attention
    case LayerRole::kGateUp:
    case LayerRole::kUp: return {.compute = layer.rows()};  // output
    case LayerRole::kDown:                                  // none of its own
    case LayerRole::kEmbedding:                             // outside of the decoder's blocks
    case LayerRole::kPositions:
    case LayerRole::kClass:
    case LayerRole::kPatches:
    case LayerRole::kQueries:
    case LayerRole::kQuery:
    case LayerRole::kKeyValue:
    case LayerRole::kCrossQuery:
    case LayerRole::kCrossKeyValue:
    case LayerRole::kCrossOut:
    case LayerRole::kCrossNorm:
    case LayerRole::kFinalNorm:
    case LayerRole::kProjection:
    case LayerRole::kHead: return {};
  }
  return {};
}

SavedElements SavedOf(const UnitLayers& layers, const ModelShape& m) {
  SavedElements saved;
  for (const Layer& layer : layers) {
    const SavedElements own = SavedOf(layer, m);
    saved.compute += own.compute;
    saved.fp32 += own.fp32;
  }
  return saved;
}

// The parts around the blocks, which stand under `path`.
ModelDescription Decoder(const ModelShape& m, const std::string& path, Layer final_norm) {
  ModelDescription model;
  model.layers = m.layers;
  model.tied_head = m.tied_head;
  model.blocks = path + ".layers";
  model.embedding = {
      Matrix(LayerRole::kEmbedding, m.hidden, {{path + ".embed_tokens", m.vocab, ""}})};
  model.head = {std::move(final_norm)};
  if (!m.tied_head)
    model.head.push_back(Matrix(LayerRole::kHead, m.hidden, {{"lm_head", m.vocab, "head"}}));
  return model;
}

// path: of the decoder, and of the model whose head it has.
ModelDescription DescribeOpt(const ModelShape& m, const std::string& model_path = "") {
  const std::string path = model_path + "model.decoder";
  ModelDescription model =
      Decoder(m, path, LayerNorm(LayerRole::kFinalNorm, path + ".final_layer_norm", m.hidden));
  if (!m.tied_head) model.head.back().modules[0].path = model_path + "lm_head";
  model.embedding.push_back(
      Matrix(LayerRole::kPositions, m.hidden,
             {{path + ".embed_positions", m.max_positions + kPositionOffset, ""}}));
  model.block = OptBlockLayers(m);
  model.gates = false;
  model.learns_positions = true;
  return model;
}

ModelDescription DescribeBlip2(const ModelShape& m) {
  ModelDescription model = DescribeOpt(m, "language_model.");
  model.encoder = DescribeImageEncoder(*m.image, m.hidden);
  return model;
}

ModelDescription DescribeLlama(const ModelShape& m) {
  ModelDescription model = Decoder(m, "model", Norm(LayerRole::kFinalNorm, "model.norm", m.hidden));
  model.block = LlamaBlockLayers(m);
  return model;
}

}  // namespace

int64_t Layer::rows() const {
  return std::accumulate(modules.begin(), modules.end(), int64_t{0},
                         [](int64_t sum, const Module& module) { return sum + module.rows; });
}

ModelDescription Describe(const ModelShape& m) {
  ModelDescription model = m.image             ? DescribeBlip2(m)
                           : m.family == "opt" ? DescribeOpt(m)
                                               : DescribeLlama(m);
  model.block_saves = SavedOf(model.block, m);
  return model;
}

std::string_view Name(ModelPart part) {
  constexpr std::string_view kNames[] = {"language", "vision", "qformer", "projection"};
  return kNames[static_cast<size_t>(part)];
}

std::vector<ModelPart> PartsOf(const ModelDescription& model) {
  if (model.encoder.empty()) return {ModelPart::kLanguage};
  return {ModelPart::kVision, ModelPart::kQFormer, ModelPart::kProjection, ModelPart::kLanguage};
}

std::string ModelDescription::BlockPrefix(int64_t layer) const {
  return blocks + "." + std::to_string(layer) + ".";
}

int64_t MatrixElements(const UnitLayers& unit) {
  int64_t elements = 0;
  for (const Layer& layer : unit) elements += layer.is_matrix ? layer.rows() * layer.columns : 0;
  return elements;
}

int64_t AllElements(const UnitLayers& unit) {
  int64_t elements = 0;
  for (const Layer& layer : unit) {
    elements += layer.rows() * layer.columns;
    for (const Module& module : layer.modules) elements += module.has_bias ? module.rows : 0;
  }
  return elements;
}

int64_t Parameters(const ModelDescription& model) {
  int64_t encoder = 0;
  for (const EncoderUnit& unit : model.encoder) encoder += AllElements(unit.layers);
  return encoder + AllElements(model.embedding) + model.layers * AllElements(model.block) +
         AllElements(model.head);
}

}  // namespace trainctl::job
