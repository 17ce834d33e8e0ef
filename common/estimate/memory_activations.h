// What the forward saves for the backward, and what the backward of a unit works with, in bytes.
// Inside this room only. Pure.
#pragma once

#include <cstdint>

#include "common/estimate/memory_setting.h"

namespace trainctl::job {

inline constexpr int64_t kHeadChunkRows = 2048;  // of logits at once (worker/rank/ops/head_loss.cc)

// n · H of the compute dtype: the hidden state between two units.
int64_t HiddenBytes(const MemorySetting& setting);

// Saved of one block that is not checkpointed.
int64_t BlockActivations(const MemorySetting& setting);
bool IsCheckpointed(const MemorySetting& setting, int64_t layer);

// Alive while block `layer`, the last that has not gone back yet, is in its backward: what blocks 0
// … layer saved, its own again where it is checkpointed, and the hidden gradient.
int64_t ActivationsAtBlock(const MemorySetting& setting, int64_t layer);
// As that block's gradient is finished: its own activations are gone, but for the input and the
// output of one that was computed again.
int64_t ActivationsAfterBlock(const MemorySetting& setting, int64_t layer);
// At the end of the forward.
int64_t AllActivations(const MemorySetting& setting);

// Working buffers of the backward of the head, of a block, of the embedding.
int64_t HeadWork(const MemorySetting& setting);
int64_t BlockWork(const MemorySetting& setting);
int64_t EmbeddingWork(const MemorySetting& setting);

}  // namespace trainctl::job
