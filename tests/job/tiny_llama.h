// TinyLlama 1.1B, whose memory tests work out by hand: 22 layers, hidden 2048, FFN 5632, 32 heads
// and 4 kv heads of 64, vocabulary 32000.
#pragma once

#include "common/estimate/inspection.h"
#include "common/model/model_shape.h"

namespace trainctl::job::tiny_llama {

// Parameters.
inline constexpr int64_t kAll = 1'100'048'384;
inline constexpr int64_t kBlock = 44'044'288;
inline constexpr int64_t kEmbedding = 65'536'000;
inline constexpr int64_t kHead = 65'538'048;  // with the final norm
inline constexpr int64_t kBlockMatrices = kBlock - 2 * 2048;

inline constexpr int64_t kPositions = 4096;  // micro 8 × T 512
// 32-true: 4 · (2·2048 + 40·64 + 32·64 + 2·5632) + 4 · 34 = 80,008 bytes a position and block; the
// head's input 4 · 2048.
inline constexpr int64_t kBlockActivations = kPositions * 80'008;
inline constexpr int64_t kHidden = kPositions * 8192;
inline constexpr int64_t kWorkspace = int64_t{32} << 20;  // of matrix products, on GPUs
// Token ids and targets, and the rotary tables of 512 positions of 64.
inline constexpr int64_t kBeside = kPositions * 2 * 8 + 512 * 64 * 4 + kWorkspace;
inline constexpr int64_t kActivations = 22 * kBlockActivations + kHidden + kBeside;

inline Inspection TinyLlama() {
  Inspection inspection;
  inspection.longest_row = 512;
  ModelShape& model = inspection.model;
  model.layers = 22;
  model.hidden = 2048;
  model.intermediate = 5632;
  model.heads = 32;
  model.kv_heads = 4;
  model.head_dim = 64;
  model.vocab = 32000;
  return inspection;
}

}  // namespace trainctl::job::tiny_llama
