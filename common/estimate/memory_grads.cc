#include "common/estimate/memory_grads.h"

#include <algorithm>

#include "common/estimate/memory_reference.h"

namespace trainctl::job {

std::vector<MicroStepPlace> MicroStepPlaces(const MemorySetting& s) {
  if (s.micro_steps <= 1) return {{true, true}};
  return {{s.micro_steps == 2, false}, {false, true}};
}

bool Overlaps(const MemorySetting& s) { return s.reduces() && !s.job.deterministic; }

bool ReducesAfterBackward(const MemorySetting& s) {
  return s.residency == Residency::kModel && s.shards_trainable;
}

int64_t AllTrainable(const MemorySetting& s) {
  return SumOverUnits(s.units, [](const UnitElements& unit) { return unit.trainable; });
}

int64_t AllTrainableHeld(const MemorySetting& s) {
  return SumOverUnits(s.units, [&](const UnitElements& unit) { return s.TrainableHeld(unit); });
}

namespace {

// The pending reduction, or copy to the host, of the unit before: its gradient is still there.
int64_t StillThere(const MemorySetting& s, const LiveGrads& live) {
  return Overlaps(s) || s.job.offload_optimizer ? live.on_its_way : 0;
}

int64_t ReplicatedGrads(const MemorySetting& s, const LiveGrads& live, const MicroStepPlace& step) {
  const int64_t gone_back = live.so_far - live.in_backward;
  if (s.accumulates) {
    const int64_t all = step.is_first && !s.job.deterministic ? live.so_far : AllTrainable(s);
    const int64_t updated = step.is_last && !s.clips ? gone_back - StillThere(s, live) : 0;
    // In order, each micro step's are formed beside the sums.
    const int64_t beside = s.job.deterministic ? live.in_backward : 0;
    return (all - std::max<int64_t>(0, updated) + beside) * s.storage_bytes;
  }
  if (s.clips) return live.so_far * s.storage_bytes;
  return (live.in_backward + StillThere(s, live)) * s.storage_bytes;
}

// Whole gradients of all units, until each goes back in the last micro step.
int64_t HeldWholeGrads(const MemorySetting& s, const LiveGrads& live, const MicroStepPlace& step) {
  const int64_t all = step.is_first ? live.so_far : AllTrainable(s);
  if (s.residency == Residency::kModel || !step.is_last) return all * s.storage_bytes;
  const int64_t gone_back = live.so_far - live.in_backward;
  return (all - gone_back + live.on_its_way + s.ShardOf(s.clips ? gone_back : live.on_its_way)) *
         s.storage_bytes;
}

// Shards of gradients that wait for the micro steps to come, or for the norm of all.
int64_t HeldShards(const MemorySetting& s, const LiveGrads& live, const MicroStepPlace& step) {
  const bool reduces_later = ReducesAfterBackward(s);
  const int64_t reduced =
      s.ShardOf(std::max<int64_t>(0, live.so_far - live.in_backward - live.on_its_way));
  if (step.is_first) {
    const bool waits = (!step.is_last || s.clips) && !reduces_later;
    return waits ? reduced : 0;
  }
  const bool updates = step.is_last && !s.clips && !reduces_later;
  return AllTrainableHeld(s) - (updates ? reduced : 0);
}

int64_t ShardedGrads(const MemorySetting& s, const LiveGrads& live, const MicroStepPlace& step) {
  if (s.holds_gradients) return HeldWholeGrads(s, live, step);
  const int64_t held = HeldShards(s, live, step);
  if (s.job.deterministic) return (live.in_backward + held) * s.storage_bytes;
  if (ReducesAfterBackward(s)) return (live.so_far + held) * s.storage_bytes;
  return (live.in_backward + live.on_its_way + s.ShardOf(live.on_its_way) + held) * s.storage_bytes;
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

}  // namespace

int64_t Grads(const MemorySetting& s, const LiveGrads& live, const MicroStepPlace& step) {
  return s.shards_trainable ? ShardedGrads(s, live, step) : ReplicatedGrads(s, live, step);
}

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

int64_t GradsAtFinish(const MemorySetting& s, const LiveGrads& live, const MicroStepPlace& step) {
  const bool begins_next = Overlaps(s) && s.shards_trainable;
  return Grads(s, live, step) + (begins_next ? s.ShardOf(live.in_backward) * s.storage_bytes : 0);
}

}  // namespace trainctl::job
