#include "common/estimate/memory_step.h"

#include <algorithm>

#include "common/estimate/memory_activations.h"
#include "common/estimate/memory_encoder.h"
#include "common/estimate/memory_grads.h"
#include "common/estimate/memory_reference.h"
#include "common/estimate/memory_state.h"

namespace trainctl::job {
namespace {

// Whole weights that may be alive, in bytes.
struct LiveWeights {
  int64_t unit = 0;  // in its backward
  int64_t next = 0;  // fetched ahead
  int64_t rest = 0;  // of all units that have not gone back, this one included
  int64_t left = 0;  // of those without it

  // As its gradient is finished.
  LiveWeights Behind() const { return {0, next, left, left}; }
};

int64_t Gathered(const MemorySetting& s, const LiveWeights& live, const MicroStepPlace& step) {
  switch (s.residency) {
    case Residency::kNone: return 0;
    case Residency::kUse: return live.unit + live.next;
    case Residency::kStep: return step.is_last ? live.rest : AllGatheredBytes(s);
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

// A tied embedding goes back with the head: its own backward needs no weights.
int64_t EmbeddingGathered(const MemorySetting& s) {
  return s.units.tied_head ? 0 : GatheredBytes(s, s.units.embedding);
}

// While a unit goes back, and as a gradient is finished after it: its own, or that of the unit
// before. Without the activations.
struct Moment {
  LiveGrads grads;
  LiveWeights weights;
  const UnitElements& unit;
  const UnitElements& before;
};

int64_t InBackward(const MemorySetting& s, const Moment& at, const MicroStepPlace& step) {
  return Grads(s, at.grads, step) + Gathered(s, at.weights, step);
}

int64_t AtFinish(const MemorySetting& s, const Moment& at, const MicroStepPlace& step) {
  if (!step.is_last || ReducesAfterBackward(s)) return 0;
  return FinishWork(s, Overlaps(s) ? at.before : at.unit) + GradsAtFinish(s, at.grads, step) +
         Gathered(s, at.weights.Behind(), step);
}

int64_t AtHead(const MemorySetting& s, const MicroStepPlace& step) {
  const ModelUnits& u = s.units;
  const int64_t trainable = u.head.trainable + TiedTrainable(s);
  const int64_t weights =
      GatheredBytes(s, u.head) + (u.tied_head ? GatheredBytes(s, u.embedding) : 0);
  const Moment at = {.grads = {.in_backward = trainable, .so_far = trainable},
                     .weights = {.unit = weights,
                                 .next = GatheredBytes(s, u.block),
                                 .rest = AllGatheredBytes(s),
                                 .left = AllGatheredBytes(s) - weights},
                     .unit = u.head,
                     .before = u.head};
  const int64_t finish = Overlaps(s) ? 0 : 3 * HiddenBytes(s) + AtFinish(s, at, step);
  return AllActivations(s) + std::max(HeadWork(s) + InBackward(s, at, step), finish);
}

int64_t AtBlock(const MemorySetting& s, int64_t layer, const MicroStepPlace& step) {
  const ModelUnits& u = s.units;
  const bool is_last = layer + 1 == u.layers;
  const int64_t so_far =
      u.head.trainable + TiedTrainable(s) + (u.layers - layer) * u.block.trainable;
  const int64_t block = GatheredBytes(s, u.block), embedding = EmbeddingGathered(s);
  const int64_t first_of_next = step.is_last ? 0 : GatheredBytes(s, u.embedding);
  const int64_t below = EncoderGathered(s, u.encoder.size()) + embedding + layer * block;
  const Moment at = {.grads = {.in_backward = u.block.trainable + TiedTrainable(s),
                               .on_its_way = is_last ? u.head.trainable : u.block.trainable,
                               .so_far = so_far},
                     .weights = {.unit = block,
                                 .next = layer > 0 ? block : first_of_next,
                                 .rest = below + block,
                                 .left = below},
                     .unit = u.block,
                     .before = is_last ? u.head : u.block};
  return std::max(ActivationsAtBlock(s, layer) + BlockWork(s) + InBackward(s, at, step),
                  ActivationsAfterBlock(s, layer) + AtFinish(s, at, step));
}

// The end of a step that overlaps: the gradient of the unit that goes back last is finished.
int64_t AtLastFinish(const MemorySetting& s, const UnitElements& last, const MicroStepPlace& step) {
  if (!Overlaps(s)) return 0;
  const LiveGrads live = {.in_backward = last.trainable, .so_far = AllTrainable(s)};
  return AtFinish(s, {.grads = live, .weights = {}, .unit = last, .before = last}, step);
}

int64_t AtEmbedding(const MemorySetting& s, const MicroStepPlace& step) {
  const ModelUnits& u = s.units;
  const int64_t below = EncoderGathered(s, u.encoder.size());
  // Between micro steps the next one's first two units are whole.
  const bool goes_on = !step.is_last;
  const Moment at = {.grads = {.in_backward = u.embedding.trainable,
                               .on_its_way = u.block.trainable,
                               .so_far = AllTrainable(s)},
                     .weights = {.unit = goes_on ? GatheredBytes(s, u.embedding) : 0,
                                 .next = goes_on ? GatheredBytes(s, u.block) : 0,
                                 .rest = below + EmbeddingGathered(s),
                                 .left = below},
                     .unit = u.embedding,
                     .before = u.block};
  return std::max(
      {AllEncoderActivations(s) + HiddenBytes(s) + EmbeddingWork(s) + InBackward(s, at, step),
       EncoderActivationsBefore(s, u.encoder.size()) + AtFinish(s, at, step),
       AtLastFinish(s, u.embedding, step)});
}

// Forward, with the gradients of earlier micro steps.
int64_t AtUntrainedUnit(const MemorySetting& s, size_t unit, const MicroStepPlace& step) {
  const std::vector<EncoderElements>& units = s.units.encoder;
  const bool is_last = unit + 1 == units.size();
  const UnitElements& next = is_last ? s.units.embedding : units[unit + 1].elements;
  const int64_t own = GatheredBytes(s, units[unit].elements), ahead = GatheredBytes(s, next);
  const bool stay = s.residency == Residency::kModel || !step.is_first;
  const int64_t weights = s.residency == Residency::kUse ? own + ahead
                          : stay                         ? AllGatheredBytes(s)
                                                         : EncoderGathered(s, unit + 1) + ahead;
  return EncoderForwardAt(s, unit) + weights + (step.is_first ? 0 : GradsBeforeForward(s));
}

int64_t AtEncoderUnit(const MemorySetting& s, size_t unit, const MicroStepPlace& step) {
  if (!EncoderTrains(s.units, unit + 1)) return AtUntrainedUnit(s, unit, step);
  const std::vector<EncoderElements>& units = s.units.encoder;
  const bool is_last = unit + 1 == units.size();
  const UnitElements& before = is_last ? s.units.embedding : units[unit + 1].elements;
  int64_t so_far = AllTrainable(s);
  for (size_t i = 0; i < unit; ++i) so_far -= units[i].elements.trainable;
  const UnitElements& own = units[unit].elements;
  const Moment at = {
      .grads = {.in_backward = own.trainable, .on_its_way = before.trainable, .so_far = so_far},
      .weights = {.unit = GatheredBytes(s, own),
                  .next = unit > 0 ? GatheredBytes(s, units[unit - 1].elements) : 0,
                  .rest = EncoderGathered(s, unit + 1),
                  .left = EncoderGathered(s, unit)},
      .unit = own,
      .before = before};
  return std::max(EncoderActivationsAt(s, unit) + InBackward(s, at, step),
                  EncoderActivationsBefore(s, unit) + AtFinish(s, at, step));
}

// The model as one unit: its gradients are reduced one after the other, the head's first, after its
// whole weights are gone. Between micro steps these stay.
int64_t AtReduction(const MemorySetting& s, const MicroStepPlace& step) {
  if (!ReducesAfterBackward(s) || (s.holds_gradients && !step.is_last)) return 0;
  const ModelUnits& u = s.units;
  const int64_t weights = step.is_last ? 0 : AllGatheredBytes(s);
  const int64_t held = step.is_first || s.holds_gradients ? 0 : AllTrainableHeld(s);
  const auto work = [&](const UnitElements& unit) {
    return step.is_last ? FinishWork(s, unit) : 0;
  };
  const int64_t shards = std::max(s.ShardOf(u.head.trainable) + s.ShardOf(u.block.trainable),
                                  s.ShardOf(u.embedding.trainable));
  const int64_t all = AllTrainable(s);
  return weights +
         std::max((all + held + shards) * s.storage_bytes + work(u.head),
                  (all + held - u.head.trainable + shards) * s.storage_bytes + work(u.block));
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
  int64_t peak = AtClippedUpdate(s);
  for (const MicroStepPlace& step : MicroStepPlaces(s)) {
    peak = std::max({peak, AtHead(s, step), AtEmbedding(s, step), AtReduction(s, step)});
    for (int64_t layer = 0; layer < s.units.layers; ++layer)
      peak = std::max(peak, AtBlock(s, layer, step));
    for (size_t unit = 0; unit < s.units.encoder.size(); ++unit)
      peak = std::max(peak, AtEncoderUnit(s, unit, step));
  }
  return peak;
}

int64_t GradsBeforeForward(const MemorySetting& s) {
  if (!s.accumulates) return 0;
  const int64_t held = AllTrainableHeld(s) * s.storage_bytes;
  if (s.holds_gradients) return s.world * held;
  if (!s.shards_trainable || s.job.deterministic) return held;
  // The last unit that went back is still being reduced. Its shard is added to that of earlier
  // micro steps, if there are such.
  const int64_t shard = s.ShardOf(LastTrainable(s.units)) * s.storage_bytes;
  return held + s.world * shard + (s.micro_steps > 2 ? shard : 0);
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
