#include "common/estimate/memory_step.h"

#include <algorithm>

#include "common/estimate/memory_activations.h"
#include "common/estimate/memory_encoder.h"
#include "common/estimate/memory_reference.h"
#include "common/estimate/memory_state.h"

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
  // In order, each micro step's are formed beside the sums.
  if (s.accumulates)
    return (AllTrainable(s) + (s.job.deterministic ? live.in_backward : 0)) * s.storage_bytes;
  if (s.clips) return live.so_far * s.storage_bytes;
  const bool one_more = (s.reduces() && !s.job.deterministic) ||
                        s.job.offload_optimizer;  // deterministic waits for each sum
  return (live.in_backward + (one_more ? live.on_its_way : 0)) * s.storage_bytes;
}

// Whole gradients of all units, until each goes back in the last micro step.
int64_t HeldWholeGrads(const MemorySetting& s, const LiveGrads& live) {
  const int64_t all = AllTrainable(s);
  if (s.residency == Residency::kModel) return all * s.storage_bytes;
  const int64_t gone_back = live.so_far - live.in_backward;
  const int64_t in_last =
      all - gone_back + live.on_its_way + s.ShardOf(s.clips ? gone_back : live.on_its_way);
  return std::max(all, in_last) * s.storage_bytes;
}

int64_t ShardedGrads(const MemorySetting& s, const LiveGrads& live) {
  if (s.holds_gradients) return HeldWholeGrads(s, live);
  const int64_t held_shards = s.accumulates ? AllTrainableHeld(s)
                              : s.clips     ? s.ShardOf(live.so_far)
                                            : 0;
  if (s.job.deterministic) return (live.in_backward + held_shards) * s.storage_bytes;
  if (s.residency == Residency::kModel)
    return (live.so_far + held_shards) * s.storage_bytes;  // reduced after the backward
  return (live.in_backward + live.on_its_way + s.ShardOf(live.on_its_way) + held_shards) *
         s.storage_bytes;
}

int64_t Grads(const MemorySetting& s, const LiveGrads& live) {
  return s.shards_trainable ? ShardedGrads(s, live) : ReplicatedGrads(s, live);
}

// Replicated gradients whose sums over micro steps are counted beside them (ReplicatedGrads).
bool CountsSums(const MemorySetting& s) {
  return s.job.deterministic && s.accumulates && !s.shards_trainable;
}

// Of deterministic, beside the unit's own gradient: those of all ranks, which takes its place; else
// the copy that sums begin with.
int64_t OrderedWork(const MemorySetting& s, const UnitElements& unit) {
  if (!s.job.deterministic) return 0;
  if (s.reduces()) return s.world * unit.trainable * s.storage_bytes;
  return CountsSums(s) ? 0 : unit.trainable * s.storage_bytes;
}

// While a unit's gradient is finished: deterministic's copies; on CPUs its norm, and its update
// unless that waits for the norm of all.
int64_t FinishWork(const MemorySetting& s, const UnitElements& unit) {
  const int64_t update = s.clips ? 0 : ReferenceUpdateWork(s, unit);
  const int64_t on_cpu = s.is_cpu ? std::max(ReferenceNormWork(s, unit), update) : 0;
  // The unit's own gradient goes back before its sum is used.
  const int64_t gone_back = CountsSums(s) ? unit.trainable * s.storage_bytes : 0;
  // Of one micro step on one device the gradient stays beside its sum.
  const bool copies = s.job.deterministic && !s.reduces() && !s.accumulates && !s.clips;
  const int64_t copy = copies ? s.TrainableHeld(unit) * s.storage_bytes : 0;
  return std::max(on_cpu + copy - gone_back, OrderedWork(s, unit));
}

// As a unit is finished, in the last micro step: those finished before have given theirs back.
int64_t GradsAtFinish(const MemorySetting& s, const LiveGrads& live) {
  const int64_t grads = Grads(s, live);
  if (!s.accumulates || s.clips || s.holds_gradients) return grads;
  const int64_t gone_back = live.so_far - live.in_backward;
  if (s.shards_trainable)
    return grads - s.ShardOf(std::max<int64_t>(0, gone_back - live.on_its_way)) * s.storage_bytes;
  const int64_t on_its_way = s.reduces() && !s.job.deterministic ? live.on_its_way : 0;
  return grads - (gone_back - on_its_way) * s.storage_bytes;
}

// Whole weights that may be alive, in bytes.
struct LiveWeights {
  int64_t unit = 0;  // in its backward
  int64_t next = 0;  // fetched ahead
  int64_t rest = 0;  // of all units that have not gone back, this one included
};

int64_t Gathered(const MemorySetting& s, const LiveWeights& live) {
  switch (s.residency) {
    case Residency::kNone: return 0;
    case Residency::kUse: return live.unit + live.next;
    case Residency::kStep: return s.accumulates ? AllGatheredBytes(s) : live.rest;
    case Residency::kModel: return AllGatheredBytes(s);
  }
  return 0;
}

// Of the first so many units of the encoder.
int64_t EncoderGathered(const MemorySetting& s, size_t units) {
  int64_t bytes = 0;
  for (size_t i = 0; i < units; ++i) bytes += GatheredBytes(s, s.units.encoder[i].elements);
  return bytes;
}

int64_t TiedTrainable(const MemorySetting& s) {
  return s.units.tied_head ? s.units.embedding.trainable : 0;
}

int64_t AtHead(const MemorySetting& s) {
  const ModelUnits& u = s.units;
  const int64_t trainable = u.head.trainable + TiedTrainable(s);
  const int64_t weights =
      GatheredBytes(s, u.head) + (u.tied_head ? GatheredBytes(s, u.embedding) : 0);
  const LiveGrads live = {.in_backward = trainable, .so_far = trainable};
  return AllActivations(s) +
         std::max(HeadWork(s) + Grads(s, live),
                  3 * HiddenBytes(s) + FinishWork(s, u.head) + GradsAtFinish(s, live)) +
         Gathered(
             s, {.unit = weights, .next = GatheredBytes(s, u.block), .rest = AllGatheredBytes(s)});
}

int64_t AtBlock(const MemorySetting& s, int64_t layer) {
  const ModelUnits& u = s.units;
  const bool is_last = layer + 1 == u.layers;
  const int64_t so_far =
      u.head.trainable + TiedTrainable(s) + (u.layers - layer) * u.block.trainable;
  const LiveGrads live = {.in_backward = u.block.trainable + TiedTrainable(s),
                          .on_its_way = is_last ? u.head.trainable : u.block.trainable,
                          .so_far = so_far};
  const int64_t block = GatheredBytes(s, u.block), embedding = GatheredBytes(s, u.embedding);
  const int64_t first_of_next = s.accumulates ? embedding : 0;
  const LiveWeights weights = {
      .unit = block,
      .next = layer > 0 ? block : first_of_next,
      .rest = EncoderGathered(s, s.units.encoder.size()) + embedding + (layer + 1) * block};
  return std::max(
             ActivationsAtBlock(s, layer) + BlockWork(s) + Grads(s, live),
             ActivationsAfterBlock(s, layer) + FinishWork(s, u.block) + GradsAtFinish(s, live)) +
         Gathered(s, weights);
}

int64_t AtEmbedding(const MemorySetting& s) {
  const ModelUnits& u = s.units;
  const LiveGrads live = {.in_backward = u.embedding.trainable,
                          .on_its_way = u.block.trainable,
                          .so_far = AllTrainable(s)};
  // Between micro steps the next one's first two units are whole.
  const int64_t embedding = GatheredBytes(s, u.embedding), block = GatheredBytes(s, u.block);
  const LiveWeights weights = {.unit = s.accumulates ? embedding : 0,
                               .next = s.accumulates ? block : 0,
                               .rest = EncoderGathered(s, s.units.encoder.size()) + embedding};
  return std::max(AllEncoderActivations(s) + HiddenBytes(s) + EmbeddingWork(s) + Grads(s, live),
                  FinishWork(s, u.embedding) + GradsAtFinish(s, live)) +
         Gathered(s, weights);
}

int64_t AtEncoderUnit(const MemorySetting& s, size_t unit) {
  const std::vector<EncoderElements>& units = s.units.encoder;
  const bool is_last = unit + 1 == units.size();
  const UnitElements& before = is_last ? s.units.embedding : units[unit + 1].elements;
  int64_t so_far = AllTrainable(s);
  for (size_t i = 0; i < unit; ++i) so_far -= units[i].elements.trainable;
  const LiveGrads live = {.in_backward = units[unit].elements.trainable,
                          .on_its_way = before.trainable,
                          .so_far = so_far};
  const LiveWeights weights = {.unit = GatheredBytes(s, units[unit].elements),
                               .next = unit > 0 ? GatheredBytes(s, units[unit - 1].elements) : 0,
                               .rest = EncoderGathered(s, unit + 1)};
  return std::max(EncoderActivationsAt(s, unit) + Grads(s, live),
                  FinishWork(s, units[unit].elements) + GradsAtFinish(s, live)) +
         Gathered(s, weights);
}

// The model as one unit: its gradients are reduced, into one more shard of each unit, after its
// whole weights are gone.
int64_t AtReduction(const MemorySetting& s) {
  if (s.residency != Residency::kModel || !s.shards_trainable) return 0;
  const bool accumulates_shards = s.accumulates && !s.holds_gradients;
  const int64_t weights =
      accumulates_shards ? AllGatheredBytes(s) : 0;  // between micro steps they stay
  const int64_t held = accumulates_shards || s.clips ? AllTrainableHeld(s) : 0;
  return weights +
         (AllTrainable(s) + held + s.ShardOf(s.units.embedding.trainable)) * s.storage_bytes;
}

// Clipped gradients are applied after the backward, unit by unit from the embedding on.
int64_t AtClippedUpdate(const MemorySetting& s) {
  if (!s.clips || !s.is_cpu) return 0;
  const ModelUnits& u = s.units;
  const int64_t all = AllTrainableHeld(s);
  return std::max(
      {all * s.storage_bytes + ReferenceUpdateWork(s, u.embedding),
       (all - s.TrainableHeld(u.embedding)) * s.storage_bytes + ReferenceUpdateWork(s, u.block),
       s.TrainableHeld(u.head) * s.storage_bytes + ReferenceUpdateWork(s, u.head)});
}

// Of the unit that goes back last.
int64_t LastTrainable(const ModelUnits& units) {
  for (const EncoderElements& unit : units.encoder) {
    if (unit.elements.trainable > 0) return unit.elements.trainable;
  }
  return units.embedding.trainable > 0 ? units.embedding.trainable : units.block.trainable;
}

}  // namespace

int64_t PeakOfStep(const MemorySetting& s) {
  int64_t peak = std::max({AtHead(s), AtEmbedding(s), AtReduction(s), AtClippedUpdate(s)});
  for (int64_t layer = 0; layer < s.units.layers; ++layer) peak = std::max(peak, AtBlock(s, layer));
  for (size_t unit = 0; unit < s.units.encoder.size(); ++unit)
    peak = std::max(peak, AtEncoderUnit(s, unit));
  return peak;
}

int64_t GradsAfterBackward(const MemorySetting& s) {
  const int64_t held = AllTrainableHeld(s);
  if (!s.reduces() || s.job.deterministic) return s.clips ? held * s.storage_bytes : 0;
  // The last unit that goes back is still being reduced.
  const int64_t last = LastTrainable(s.units);
  const int64_t shard = s.shards_trainable ? s.ShardOf(last) : 0;
  if (s.residency == Residency::kModel && s.shards_trainable) {
    return (AllTrainable(s) +
            (!s.holds_gradients && (s.accumulates || s.clips) ? held + last : 0)) *
           s.storage_bytes;
  }
  if (s.clips) return (held + (s.shards_trainable ? last : 0)) * s.storage_bytes;
  return (last + shard + (s.accumulates && !s.holds_gradients ? shard : 0)) * s.storage_bytes;
}

}  // namespace trainctl::job
