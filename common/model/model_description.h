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

// A tensor "<path>.weight" and, with a bias, "<path>.bias".
struct Module {
  std::string path;  // of a block without its prefix: "self_attn.q_proj"
  int64_t rows = 0;
  std::string_view target;  // what lora.targets calls it; empty: it is never adapted
  bool has_bias = false;
};

enum class LayerRole {
  kEmbedding,
  kPositions,  // learned
  kInputNorm,
  kQkv,
  kQNorm,  // of each head
  kKNorm,
  kAttentionOut,
  kPostNorm,
  kGateUp,  // of SwiGLU
  kUp,      // of an FFN with ReLU
  kDown,
  kFinalNorm,
  kHead
};

// One module, or linear modules of the same input, whose outputs lie side by side.
struct Layer {
  LayerRole role = LayerRole::kEmbedding;
  std::vector<Module> modules;
  int64_t columns = 1;
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

struct ModelDescription {
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
// every linear layer but the head has a bias. Of all others as LLaMA (Touvron et al. 2023):
// RMSNorm, rotary embedding, SwiGLU.
ModelDescription Describe(const ModelShape& shape);

// OPT's table of positions has so many rows before that of position 0.
inline constexpr int64_t kPositionOffset = 2;

// Elements of its matrices, and of all its tensors.
int64_t MatrixElements(const UnitLayers& unit);
int64_t AllElements(const UnitLayers& unit);
int64_t Parameters(const ModelDescription& model);

}  // namespace trainctl::job
