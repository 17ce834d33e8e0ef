// What the formulas of the memory estimate count with: the job, resolved into numbers. Inside this
// room only. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "common/estimate/memory_units.h"
#include "common/job/job.h"
#include "common/model/model_shape.h"
#include "common/rank/rank_plan.h"

namespace trainctl::job {

inline constexpr int64_t kFp32Bytes = 4;
inline constexpr int64_t kBf16Bytes = 2;

// How long a unit's gathered weights stay: not sharded; sharding full: for its use; grad_op: from
// its first use to its last backward; the model as one unit: all from the first use to the end of
// the step (worker/rank/strategy/unit_gatherer.h).
enum class Residency { kNone, kUse, kStep, kModel };

struct MemorySetting {
  JobSpec job;  // strategy resolved
  ModelShape model;
  ModelUnits units;
  int64_t positions = 0;      // n = micro batch × T
  int64_t samples = 0;        // of the micro batch
  int64_t longest_row = 0;    // at most T; its padding not counted
  int64_t storage_bytes = 0;  // s: of a gradient or moment
  int64_t compute_bytes = 0;  // e
  int64_t world = 1;
  bool is_cpu = false;
  bool is_reference = false;  // kernels
  bool is_fsdp = false;
  bool shards_trainable = false;  // fsdp without LoRA: adapters are replicated
  Residency residency = Residency::kNone;
  int64_t micro_steps = 1;
  bool accumulates = false;
  bool clips = false;
  bool holds_gradients = false;  // whole, over the micro steps

  bool is_mixed() const { return job.precision == Precision::kBf16Mixed; }
  bool widens() const {
    return is_cpu && compute_bytes == kBf16Bytes;
  }  // bf16 is computed in fp32 there
  bool reduces() const { return world > 1; }
  bool may_hold_gradients() const { return shards_trainable && accumulates && !job.deterministic; }

  // That PyTorch's caching allocator gives cuBLAS, once on the stream of the step: 32 MiB at
  // compute capability 9.0, 8.1 MiB before. The larger counts, since a job may wait for either.
  int64_t MatrixWorkspaceBytes() const { return is_cpu ? 0 : int64_t{32} << 20; }

  // Of what attention with a window works with on CPUs: of one piece the mask and the gradients, in
  // fp32.
  int64_t WindowPieceBytes() const;

  // Elements of a buffer that this rank holds of `elements` whole ones: padded to world × 256 and
  // divided under fsdp.
  int64_t ShardOf(int64_t elements) const;
  int64_t TrainableHeld(const UnitElements& unit) const {
    return shards_trainable ? ShardOf(unit.trainable) : unit.trainable;
  }
  // Ranks whose shards have different tensors.
  int64_t ranks_that_differ() const { return shards_trainable ? world : 1; }
  // Of what such a rank holds of the unit.
  std::vector<StateRun> StateRunsOf(const UnitElements& unit, int64_t rank) const {
    const int64_t held = TrainableHeld(unit);
    return StateRuns(unit, rank * held, held);
  }
};

MemorySetting MemorySettingOf(const JobSpec& job, const ModelShape& model, DeviceKind device,
                              int64_t sequence_length);

}  // namespace trainctl::job
