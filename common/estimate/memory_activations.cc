#include "common/estimate/memory_activations.h"

#include <algorithm>

#include "common/estimate/memory_encoder.h"
#include "common/estimate/memory_reference.h"

namespace trainctl::job {
namespace {

constexpr int64_t kHeadDimMultiple =
    8;  // attention kernels on GPUs take padded copies of other head sizes

// The attention's own output, if the head size had to be padded. It is kept beside the rows that
// are made of it.
int64_t PaddedAttentionElements(const MemorySetting& s) {
  const int64_t head_dim = s.model.head_dim;
  if (s.is_cpu || head_dim % kHeadDimMultiple == 0) return 0;
  return s.model.heads * ((head_dim + kHeadDimMultiple - 1) / kHeadDimMultiple * kHeadDimMultiple);
}

// LoRA on the head alone: blocks have no backward, and save nothing.
bool TrainsBlocks(const MemorySetting& s) {
  return s.units.block.trainable > 0 || EncoderTrains(s.units, s.units.encoder.size());
}

// Of the first `blocks` blocks; a checkpointed one saves its input only.
int64_t SavedOfBlocks(const MemorySetting& s, int64_t blocks) {
  if (!TrainsBlocks(s)) return 0;
  const int64_t every = s.job.activation_checkpointing;
  const int64_t checkpointed = every > 0 ? (blocks + every - 1) / every : 0;
  return checkpointed * HiddenBytes(s) + (blocks - checkpointed) * BlockActivations(s);
}

// FFN elements a position of the fused SwiGLU's backward: its product's gradient, gate's and up's;
// the product again if the matrix behind it is trained or adapted; for the adapter also that with
// dropout.
int64_t FusedSwiGluWidths(const MemorySetting& s) {
  if (!s.job.lora) return 4;
  if (!s.units.adapts_down) return 3;
  return s.job.lora->dropout > 0 ? 5 : 4;
}

// Of an FFN with ReLU: its product's gradient, which becomes its input's; for the adapter of the
// matrix behind it also that with dropout. And the hidden gradient without what the model drops.
int64_t FusedReluElements(const MemorySetting& s) {
  const bool drops_input = s.units.adapts_down && s.job.lora->dropout > 0;
  return (drops_input ? 2 : 1) * s.model.intermediate + (s.model.dropout > 0 ? s.model.hidden : 0);
}

int64_t FusedFfnElements(const MemorySetting& s) {
  return s.units.gates ? FusedSwiGluWidths(s) * s.model.intermediate : FusedReluElements(s);
}

}  // namespace

int64_t HiddenBytes(const MemorySetting& s) {
  return s.positions * s.compute_bytes * s.model.hidden;
}

int64_t BlockActivations(const MemorySetting& s) {
  const int64_t adapters = s.job.lora ? s.job.lora->r * s.units.block_adapters : 0;
  const SavedElements& saved = s.units.block_saves;
  const int64_t elements = saved.compute + PaddedAttentionElements(s) + adapters;
  return s.positions * (s.compute_bytes * elements + kFp32Bytes * saved.fp32);
}

bool IsCheckpointed(const MemorySetting& s, int64_t layer) {
  const int64_t every = s.job.activation_checkpointing;
  return every > 0 && layer % every == 0;
}

int64_t ActivationsAtBlock(const MemorySetting& s, int64_t layer) {
  const int64_t bytes = AllEncoderActivations(s) + HiddenBytes(s) + SavedOfBlocks(s, layer + 1);
  // Of a checkpointed block the input is there already. Without a backward they last for a forward.
  return bytes + (IsCheckpointed(s, layer) || !TrainsBlocks(s) ? BlockActivations(s) : 0);
}

int64_t ActivationsAfterBlock(const MemorySetting& s, int64_t layer) {
  const int64_t again = IsCheckpointed(s, layer) ? 2 * HiddenBytes(s) : 0;
  return AllEncoderActivations(s) + HiddenBytes(s) + SavedOfBlocks(s, layer) + again;
}

int64_t AllActivations(const MemorySetting& s) {
  return AllEncoderActivations(s) + HiddenBytes(s) + SavedOfBlocks(s, s.model.layers);
}

int64_t HeadWork(const MemorySetting& s) {
  if (s.is_reference) return ReferenceHeadWork(s);
  const int64_t rows = std::min(s.positions, kHeadChunkRows);
  return 2 * HiddenBytes(s) + rows * s.model.vocab * s.compute_bytes;
}

int64_t BlockWork(const MemorySetting& s) {
  if (s.is_reference) return ReferenceBlockWork(s);
  return s.positions * s.compute_bytes * (FusedFfnElements(s) + s.model.hidden) +
         s.compute_bytes * s.units.block.quantized;
}

int64_t EmbeddingWork(const MemorySetting& s) {
  return s.is_reference ? ReferenceEmbeddingWork(s) : 0;
}

}  // namespace trainctl::job
