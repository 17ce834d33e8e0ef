// What a model is made of: its units, their tensors by the names of the checkpoint, and what its
// forward keeps. The parameter table, a run's memory and time, and what adapters may adapt derive
// from it. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/model_shape.h"

namespace trainctl::job {

// Parts of a model, which may be frozen, and are adapted by targets of their own.
enum class ModelPart { kLanguage, kVision, kQFormer, kProjection };
std::string_view Name(ModelPart part);  // "vision"

// A tensor "<path>.weight" and, with a bias, "<path>.bias".
struct Module {
  std::string path;  // of a block without its prefix: "self_attn.q_proj"
  int64_t rows = 0;
  std::string_view target;  // what lora.targets calls it; empty: it is never adapted
  bool has_bias = false;
  std::vector<int64_t> file_shape = {};  // empty: [rows] or [rows, columns]
  bool is_bare = false;                  // the tensor is "<path>"

  std::string WeightName() const { return is_bare ? path : path + ".weight"; }
};

enum class LayerRole {
  kEmbedding,
  kPositions,  // learned
  kClass,      // the first row of a picture
  kPatches,    // a picture's squares to rows
  kQueries,    // learned rows
  kInputNorm,
  kQkv,
  kQuery,     // of the Q-Former's own rows
  kKeyValue,  // of the same
  kCrossQuery,
  kCrossKeyValue,  // of the picture's rows
  kCrossOut,
  kCrossNorm,
  kQNorm,  // of each head
  kKNorm,
  kAttentionOut,
  kPostNorm,
  kGateUp,  // of SwiGLU
  kUp,      // of an FFN with ReLU or GELU
  kDown,
  kFinalNorm,
  kProjection,  // to the decoder's width
  kHead
};

// One module, or linear modules of the same input, whose outputs lie side by side.
struct Layer {
  LayerRole role = LayerRole::kEmbedding;
  std::vector<Module> modules;
  int64_t columns = 1;
  int64_t positions = 0;   // of a sample that it is given; 0: all of its unit
  bool is_matrix = false;  // else a norm's vector; one with a bias is a LayerNorm

  int64_t rows() const;
};

// What is gathered, reduced and updated together. Layers are in the order of their tensors.
using UnitLayers = std::vector<Layer>;

// Elements that a position's forward keeps for the backward.
struct SavedElements {
  int64_t compute = 0;  // of the compute dtype
  int64_t fp32 = 0;     // statistics
};

// A unit before the decoder's embedding.
struct EncoderUnit {
  std::string name;    // "vision.block.0"
  std::string prefix;  // of its modules' paths
  ModelPart part = ModelPart::kVision;
  UnitLayers layers;
  int64_t positions = 0;     // of a sample
  int64_t width = 0;         // of its output's rows
  bool is_block = false;     // may be computed again for its backward
  bool reads_image = false;  // attends to what the vision model's last unit gives
  SavedElements saves;       // of a sample
};

struct ModelDescription {
  std::vector<EncoderUnit> encoder;  // in the order of the forward
  UnitLayers embedding;
  UnitLayers block;  // all are alike
  UnitLayers head;   // the final norm; with its matrix, unless that is the embedding
  int64_t layers = 0;
  bool tied_head = false;
  SavedElements block_saves;

  std::string blocks = "model.layers";  // path of the list of blocks
  bool gates = true;                    // the FFN is SwiGLU; else ReLU
  bool learns_positions = false;        // so that there are max_positions of them; else rotary

  // Of the paths of a block.
  std::string BlockPrefix(int64_t layer) const;
};

// Of the family "opt" (Zhang et al. 2022): LayerNorm, learned positions, an FFN with ReLU. There
// every linear layer but the head has a bias. "blip-2" (Li et al. 2023) is OPT behind an encoder of
// images. Of all others as LLaMA (Touvron et al. 2023): RMSNorm, rotary embedding, SwiGLU.
ModelDescription Describe(const ModelShape& shape);

// OPT's table of positions has so many rows before that of position 0.
inline constexpr int64_t kPositionOffset = 2;

// The parts that the model has: the language alone, or all.
std::vector<ModelPart> PartsOf(const ModelDescription& model);

// Elements of its matrices, and of all its tensors.
int64_t MatrixElements(const UnitLayers& unit);
int64_t AllElements(const UnitLayers& unit);
int64_t Parameters(const ModelDescription& model);

}  // namespace trainctl::job
