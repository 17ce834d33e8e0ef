#include "common/model/image_encoder.h"

#include <string>
#include <utility>

namespace trainctl::job {
namespace {

constexpr int64_t kColors = 3;

Layer NormOf(LayerRole role, std::string path, int64_t size) {
  return {.role = role, .modules = {{.path = std::move(path), .rows = size, .has_bias = true}}};
}

Layer MatrixOf(LayerRole role, int64_t columns, std::vector<Module> modules) {
  return {.role = role, .modules = std::move(modules), .columns = columns, .is_matrix = true};
}

// A tensor that stands alone, of rows that are learned.
Layer RowsOf(LayerRole role, std::string path, int64_t rows, int64_t columns) {
  return MatrixOf(
      role, columns,
      {{.path = std::move(path), .rows = rows, .file_shape = {1, rows, columns}, .is_bare = true}});
}

// ---- the vision transformer ----

EncoderUnit VisionEmbedding(const ImageShape& m) {
  const std::string path = "vision_model.embeddings.";
  const int64_t hidden = m.vision_hidden;
  return {
      .name = "vision.embedding",
      .part = ModelPart::kVision,
      .layers = {RowsOf(LayerRole::kClass, path + "class_embedding", 1, hidden),
                 RowsOf(LayerRole::kPositions, path + "position_embedding", m.positions(), hidden),
                 MatrixOf(LayerRole::kPatches, kColors * m.patch * m.patch,
                          {{.path = path + "patch_embedding",
                            .rows = hidden,
                            .has_bias = true,
                            .file_shape = {hidden, kColors, m.patch, m.patch}}})},
      .positions = m.positions(),
      .width = hidden};
}

UnitLayers VisionLayers(const ImageShape& m) {
  const int64_t hidden = m.vision_hidden, ffn = m.vision_intermediate;
  return {
      NormOf(LayerRole::kInputNorm, "layer_norm1", hidden),
      MatrixOf(LayerRole::kQkv, hidden,
               {{"self_attn.qkv", 3 * hidden, "vision.qkv", m.vision_qkv_bias}}),
      MatrixOf(LayerRole::kAttentionOut, hidden,
               {{"self_attn.projection", hidden, "vision.o", true}}),
      NormOf(LayerRole::kPostNorm, "layer_norm2", hidden),
      MatrixOf(LayerRole::kUp, hidden, {{"mlp.fc1", ffn, "vision.up", true}}),
      MatrixOf(LayerRole::kDown, ffn, {{"mlp.fc2", hidden, "vision.down", true}}),
  };
}

EncoderUnit VisionBlock(const ImageShape& m, int64_t number) {
  const int64_t positions = m.positions(), hidden = m.vision_hidden;
  return {.name = "vision.block." + std::to_string(number),
          .prefix = "vision_model.encoder.layers." + std::to_string(number) + ".",
          .part = ModelPart::kVision,
          .layers = VisionLayers(m),
          .positions = positions,
          .width = hidden,
          .is_block = true,
          // Both norms' inputs, qkv, attention's output, the FFN's first layer; their means and
          // 1 / σ, the logsumexp of the attention.
          .saves = {.compute = positions * (6 * hidden + m.vision_intermediate),
                    .fp32 = positions * (4 + m.vision_heads)}};
}

EncoderUnit VisionNorm(const ImageShape& m) {
  return {.name = "vision.norm",
          .part = ModelPart::kVision,
          .layers = {NormOf(LayerRole::kFinalNorm, "vision_model.post_layernorm", m.vision_hidden)},
          .positions = m.positions(),
          .width = m.vision_hidden,
          // Its input, and its output, which the Q-Former reads.
          .saves = {.compute = 2 * m.positions() * m.vision_hidden, .fp32 = 2 * m.positions()}};
}

// ---- the Q-Former ----

EncoderUnit QueryEmbedding(const ImageShape& m) {
  return {.name = "qformer.embedding",
          .part = ModelPart::kQFormer,
          .layers = {RowsOf(LayerRole::kQueries, "query_tokens", m.queries, m.qformer_hidden),
                     NormOf(LayerRole::kInputNorm, "qformer.layernorm", m.qformer_hidden)},
          .positions = m.queries,
          .width = m.qformer_hidden};
}

// Attention under `path`, whose keys and values come of rows of width `columns`.
struct AttentionRoles {
  LayerRole query, key_value, out, norm;
};

void AddAttention(const ImageShape& m, const std::string& path, const AttentionRoles& roles,
                  int64_t columns, UnitLayers* layers) {
  const int64_t hidden = m.qformer_hidden;
  layers->push_back(
      MatrixOf(roles.query, hidden, {{path + ".attention.query", hidden, "qformer.q", true}}));
  layers->push_back(MatrixOf(roles.key_value, columns,
                             {{path + ".attention.key", hidden, "qformer.k", true},
                              {path + ".attention.value", hidden, "qformer.v", true}}));
  layers->push_back(
      MatrixOf(roles.out, hidden, {{path + ".output.dense", hidden, "qformer.o", true}}));
  layers->push_back(NormOf(roles.norm, path + ".output.LayerNorm", hidden));
}

UnitLayers QFormerLayers(const ImageShape& m, bool crosses) {
  const int64_t hidden = m.qformer_hidden, ffn = m.qformer_intermediate;
  UnitLayers layers;
  AddAttention(
      m, "attention",
      {LayerRole::kQuery, LayerRole::kKeyValue, LayerRole::kAttentionOut, LayerRole::kPostNorm},
      hidden, &layers);
  if (crosses) {
    AddAttention(m, "crossattention",
                 {LayerRole::kCrossQuery, LayerRole::kCrossKeyValue, LayerRole::kCrossOut,
                  LayerRole::kCrossNorm},
                 m.vision_hidden, &layers);
    for (Layer& layer : layers) {
      if (layer.role == LayerRole::kCrossKeyValue) layer.positions = m.positions();
    }
  }
  layers.push_back(
      MatrixOf(LayerRole::kUp, hidden, {{"intermediate_query.dense", ffn, "qformer.up", true}}));
  layers.push_back(
      MatrixOf(LayerRole::kDown, ffn, {{"output_query.dense", hidden, "qformer.down", true}}));
  layers.push_back(NormOf(LayerRole::kFinalNorm, "output_query.LayerNorm", hidden));
  return layers;
}

// Attention over `keys` rows saves its input, q, k and v, and the probabilities. It saves its
// output and the sum that its norm takes, too.
SavedElements SavedOfAttention(const ImageShape& m, int64_t keys) {
  const int64_t rows = m.queries, hidden = m.qformer_hidden;
  return {.compute = rows * (4 * hidden + m.qformer_heads * keys) + 2 * keys * hidden,
          .fp32 = 2 * rows};
}

EncoderUnit QFormerBlock(const ImageShape& m, int64_t number) {
  const bool crosses = number % m.cross_every == 0;
  SavedElements saves = SavedOfAttention(m, m.queries);
  if (crosses) {
    const SavedElements cross = SavedOfAttention(m, m.positions());
    saves.compute += cross.compute;
    saves.fp32 += cross.fp32;
  }
  // The FFN's input, its first layer, and the sum that its norm takes.
  saves.compute += m.queries * (2 * m.qformer_hidden + m.qformer_intermediate);
  saves.fp32 += 2 * m.queries;
  return {.name = "qformer.block." + std::to_string(number),
          .prefix = "qformer.encoder.layer." + std::to_string(number) + ".",
          .part = ModelPart::kQFormer,
          .layers = QFormerLayers(m, crosses),
          .positions = m.queries,
          .width = m.qformer_hidden,
          .is_block = true,
          .reads_image = crosses,
          .saves = saves};
}

EncoderUnit Projection(const ImageShape& m, int64_t width) {
  return {.name = "projection",
          .part = ModelPart::kProjection,
          .layers = {MatrixOf(LayerRole::kProjection, m.qformer_hidden,
                              {{"language_projection", width, "projection", true}})},
          .positions = m.queries,
          .width = width,
          .saves = {.compute = m.queries * m.qformer_hidden}};
}

}  // namespace

std::vector<EncoderUnit> DescribeImageEncoder(const ImageShape& m, int64_t width) {
  std::vector<EncoderUnit> units = {VisionEmbedding(m)};
  for (int64_t i = 0; i < m.vision_layers; ++i) units.push_back(VisionBlock(m, i));
  units.push_back(VisionNorm(m));
  units.push_back(QueryEmbedding(m));
  for (int64_t i = 0; i < m.qformer_layers; ++i) units.push_back(QFormerBlock(m, i));
  units.push_back(Projection(m, width));
  return units;
}

}  // namespace trainctl::job
