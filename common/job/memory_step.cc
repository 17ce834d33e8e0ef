#include "common/job/memory_step.h"

#include <algorithm>

#include "common/job/memory_activations.h"
#include "common/job/memory_state.h"

namespace trainctl::job {
namespace {

// The gradients that are alive, in elements of whole gradients.
struct LiveGrads {
  int64_t in_backward = 0;  // of the unit (of both uses where it is tied)
  int64_t on_its_way = 0;   // of the unit before it: being reduced, or copied to the host
  int64_t so_far = 0;       // of all units whose backward has begun
};

int64_t AllTrainable(const MemorySetting& s) {
  return SumOverUnits(s.units, [](const UnitElements& unit) { return unit.trainable; });
}

int64_t AllTrainableHeld(const MemorySetting& s) {
  return SumOverUnits(s.units, [&](const UnitElements& unit) { return s.TrainableHeld(unit); });
}

int64_t ReplicatedGrads(const MemorySetting& s, const LiveGrads& live) {
  if (s.accumulates) return AllTrainable(s) * s.storage_bytes;
  if (s.clips) return live.so_far * s.storage_bytes;
  const bool one_more = (s.reduces() && !s.job.deterministic) || s.job.offload_optimizer;  // deterministic waits for each sum
  return (live.in_backward + (one_more ? live.on_its_way : 0)) * s.storage_bytes;
}

int64_t ShardedGrads(const MemorySetting& s, const LiveGrads& live) {
  const int64_t held_shards = s.accumulates || s.clips ? AllTrainableHeld(s) : 0;
  if (s.is_one_unit) return (AllTrainable(s) + std::max(held_shards, AllTrainableHeld(s))) * s.storage_bytes;
  return (live.in_backward + live.on_its_way + s.ShardOf(live.on_its_way) + held_shards) * s.storage_bytes;
}

int64_t Grads(const MemorySetting& s, const LiveGrads& live) {
  return s.shards_trainable ? ShardedGrads(s, live) : ReplicatedGrads(s, live);
}

// While a unit's gradient is finished: the gradient norm's fp32 temporaries, and under deterministic the gradients of single micro batches.
int64_t FinishWork(const MemorySetting& s, const UnitElements& unit) {
  const int64_t norm = s.TrainableHeld(unit) * kFp32Bytes * (s.storage_bytes == kFp32Bytes ? 1 : 2);
  const int64_t copies = s.reduces() && !s.shards_trainable ? s.world + 1 : 1;
  const int64_t ordered = s.job.deterministic ? unit.trainable * s.storage_bytes * copies : 0;
  return std::max(norm, ordered);
}

// Whole weights while `unit` is in its backward and `next` is fetched ahead.
int64_t Gathered(const MemorySetting& s, int64_t unit_bytes, const UnitElements& next) {
  if (s.keeps_gathered) return AllGatheredBytes(s);
  return unit_bytes + GatheredBytes(s, next);
}

int64_t TiedTrainable(const MemorySetting& s) { return s.units.tied_head ? s.units.embedding.trainable : 0; }

int64_t AtHead(const MemorySetting& s) {
  const ModelUnits& u = s.units;
  const int64_t trainable = u.head.trainable + TiedTrainable(s);
  const int64_t weights = GatheredBytes(s, u.head) + (u.tied_head ? GatheredBytes(s, u.embedding) : 0);
  return AllActivations(s) + std::max(HeadWork(s), 2 * HiddenBytes(s) + FinishWork(s, u.head)) +
         Grads(s, {.in_backward = trainable, .so_far = trainable}) + Gathered(s, weights, u.block);
}

int64_t AtBlock(const MemorySetting& s, int64_t layer) {
  const ModelUnits& u = s.units;
  const bool is_last = layer + 1 == u.layers;
  const int64_t so_far = u.head.trainable + TiedTrainable(s) + (u.layers - layer) * u.block.trainable;
  const LiveGrads live = {.in_backward = u.block.trainable + TiedTrainable(s),
                          .on_its_way = is_last ? u.head.trainable : u.block.trainable,
                          .so_far = so_far};
  return ActivationsAtBlock(s, layer) + std::max(BlockWork(s), FinishWork(s, u.block)) + Grads(s, live) +
         Gathered(s, GatheredBytes(s, u.block), layer == 0 ? u.embedding : u.block);
}

int64_t AtEmbedding(const MemorySetting& s) {
  const ModelUnits& u = s.units;
  const LiveGrads live = {.in_backward = u.embedding.trainable, .on_its_way = u.block.trainable, .so_far = AllTrainable(s)};
  return HiddenBytes(s) + std::max(EmbeddingWork(s), FinishWork(s, u.embedding)) + Grads(s, live) +
         Gathered(s, GatheredBytes(s, u.embedding), {});
}

}  // namespace

int64_t PeakOfStep(const MemorySetting& s) {
  int64_t peak = std::max(AtHead(s), AtEmbedding(s));
  for (int64_t layer = 0; layer < s.units.layers; ++layer) peak = std::max(peak, AtBlock(s, layer));
  return peak;
}

int64_t GradsAfterBackward(const MemorySetting& s) {
  if (s.is_one_unit && s.shards_trainable) return AllTrainable(s) * s.storage_bytes;
  if (s.clips) return AllTrainableHeld(s) * s.storage_bytes;
  if (!s.reduces() || s.job.deterministic) return 0;
  const UnitElements& last = s.units.embedding.trainable > 0 ? s.units.embedding : s.units.block;
  return last.trainable * s.storage_bytes;
}

}  // namespace trainctl::job
