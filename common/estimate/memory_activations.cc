#include "common/estimate/memory_activations.h"

#include <algorithm>

namespace trainctl::job {
namespace {

constexpr int64_t kHeadChunkRows = 2048;
constexpr int64_t kHeadDimMultiple =
    8;  // attention kernels on GPUs take padded copies of other head sizes

// fp32 temporaries alive at once in the reference kernels, in elements: a logit of the loss, and an
// FFN element of SwiGLU's backward. Where the compute dtype is bf16 the inputs are widened too.
constexpr int64_t kReferenceLossTemporaries = 2;
constexpr int64_t kReferenceSwiGluTemporaries = 8;
constexpr int64_t kWidenedLossInputs = 1;
constexpr int64_t kWidenedSwiGluInputs = 3;

int64_t WidenedInputs(const MemorySetting& s, int64_t inputs) {
  return s.compute_bytes == kFp32Bytes ? 0 : inputs;
}

// The attention's own output, kept beside the rows that are made of it where the head size had to
// be padded.
int64_t PaddedAttentionElements(const MemorySetting& s) {
  const int64_t head_dim = s.model.head_dim;
  if (s.is_cpu || head_dim % kHeadDimMultiple == 0) return 0;
  return s.model.heads * ((head_dim + kHeadDimMultiple - 1) / kHeadDimMultiple * kHeadDimMultiple);
}

// Of the first `blocks` blocks; a checkpointed one saves its input only.
int64_t SavedOfBlocks(const MemorySetting& s, int64_t blocks) {
  const int64_t every = s.job.activation_checkpointing;
  const int64_t checkpointed = every > 0 ? (blocks + every - 1) / every : 0;
  return checkpointed * HiddenBytes(s) + (blocks - checkpointed) * BlockActivations(s);
}

// FFN elements a position of the fused SwiGLU's backward: its product's gradient, gate's and up's,
// the product again where the matrix behind it is trained or adapted, and for the adapter that with
// dropout.
int64_t FusedSwiGluWidths(const MemorySetting& s) {
  if (!s.job.lora) return 4;
  if (!s.units.adapts_down) return 3;
  return s.job.lora->dropout > 0 ? 5 : 4;
}

}  // namespace

int64_t HiddenBytes(const MemorySetting& s) {
  return s.positions * s.compute_bytes * s.model.hidden;
}

int64_t BlockActivations(const MemorySetting& s) {
  const ModelShape& m = s.model;
  const int64_t adapters = s.job.lora ? s.job.lora->r * s.units.block_adapters : 0;
  const int64_t elements = 2 * m.hidden + (m.heads + 2 * m.kv_heads) * m.head_dim +
                           m.heads * m.head_dim + PaddedAttentionElements(s) + 2 * m.intermediate +
                           adapters;
  return s.positions * (s.compute_bytes * elements + kFp32Bytes * (2 + m.heads));
}

bool IsCheckpointed(const MemorySetting& s, int64_t layer) {
  const int64_t every = s.job.activation_checkpointing;
  return every > 0 && layer % every == 0;
}

int64_t ActivationsAtBlock(const MemorySetting& s, int64_t layer) {
  const int64_t bytes = HiddenBytes(s) + SavedOfBlocks(s, layer + 1);
  return bytes + (IsCheckpointed(s, layer)
                      ? BlockActivations(s)
                      : 0);  // its input is there already; its output is made again too
}

int64_t AllActivations(const MemorySetting& s) {
  return HiddenBytes(s) + SavedOfBlocks(s, s.model.layers);
}

int64_t HeadWork(const MemorySetting& s) {
  int64_t bytes_per_logit = s.compute_bytes;
  if (s.is_reference)
    bytes_per_logit +=
        kFp32Bytes * (kReferenceLossTemporaries + WidenedInputs(s, kWidenedLossInputs));
  const int64_t rows = std::min(s.positions, kHeadChunkRows);
  const int64_t widened_matrix = s.widens() ? kFp32Bytes * s.model.vocab * s.model.hidden : 0;
  return 2 * HiddenBytes(s) + rows * s.model.vocab * bytes_per_logit + widened_matrix;
}

int64_t BlockWork(const MemorySetting& s) {
  const ModelShape& m = s.model;
  const int64_t dequantized = s.compute_bytes * s.units.block.quantized;
  if (!s.is_reference)
    return s.positions * s.compute_bytes * (FusedSwiGluWidths(s) * m.intermediate + m.hidden) +
           dequantized;
  const int64_t temporaries = kReferenceSwiGluTemporaries + WidenedInputs(s, kWidenedSwiGluInputs);
  const int64_t widened_matrix = s.widens() ? kFp32Bytes * 2 * m.intermediate * m.hidden : 0;
  const int64_t swiglu =
      s.positions * m.intermediate * (3 * s.compute_bytes + kFp32Bytes * temporaries);
  return swiglu + widened_matrix + dequantized;
}

int64_t EmbeddingWork(const MemorySetting& s) {
  return s.is_reference ? s.units.embedding.trainable * s.storage_bytes : 0;
}

}  // namespace trainctl::job
