#include "common/job/memory_estimate.h"

#include <algorithm>

#include "common/job/batch.h"

namespace trainctl::job {
namespace {

constexpr int64_t kAlignment = 256;     // elements; every tensor starts at a multiple (strategy/flat_layout.h)
constexpr int64_t kLengthMultiple = 64;  // micro batches are padded to it
constexpr int64_t kHeadChunkRows = 2048;
constexpr int64_t kFp32 = 4;
constexpr int64_t kBf16 = 2;

// fp32 temporaries alive at once in the reference kernels, in elements: a logit of the loss, and an FFN element of SwiGLU's backward. Where
// the compute dtype is bf16 the inputs are widened too.
constexpr int64_t kReferenceLossTemporaries = 2;
constexpr int64_t kReferenceSwiGluTemporaries = 6;
constexpr int64_t kWidenedLossInputs = 1;
constexpr int64_t kWidenedSwiGluInputs = 3;

int64_t RoundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

int64_t Pad(int64_t elements) { return RoundUp(elements, kAlignment); }

// Elements of the flat buffers.
struct Units {
  int64_t embedding = 0;
  int64_t block = 0;
  int64_t head = 0;  // the final norm; with its matrix, unless that is the embedding
  int64_t all = 0;
};

Units UnitsOf(const ModelShape& m) {
  const int64_t q = Pad(m.heads * m.head_dim * m.hidden), kv = Pad(m.kv_heads * m.head_dim * m.hidden);
  const int64_t ffn = Pad(m.intermediate * m.hidden);
  Units units;
  units.embedding = Pad(m.vocab * m.hidden);
  units.block = 2 * Pad(m.hidden) + 2 * q + 2 * kv + 3 * ffn;
  units.head = Pad(m.hidden) + (m.tied_head ? 0 : Pad(m.vocab * m.hidden));
  units.all = units.embedding + m.layers * units.block + units.head;
  return units;
}

// What the formulas of the header need.
struct Setting {
  const ModelShape& model;
  Units units;
  int64_t positions = 0;  // n
  int64_t storage = 0;    // s
  int64_t compute = 0;    // e
  bool reference = false;
  bool upcasts = false;  // bf16 on a CPU
  bool ddp = false;
  bool deterministic = false;
  bool accumulates = false;
  bool clips = false;
  int64_t world = 1;
};

Setting SettingOf(const JobSpec& job, const Inspection& inspection, DeviceKind device, int64_t length) {
  const int64_t micro = job.train.micro_batch_size.value_or(1);
  const auto batch = PlanBatch(job);
  const bool bf16_compute = job.precision != Precision::k32True;
  return {.model = inspection.model,
          .units = UnitsOf(inspection.model),
          .positions = micro * length,
          .storage = job.precision == Precision::kBf16True ? kBf16 : kFp32,
          .compute = bf16_compute ? kBf16 : kFp32,
          .reference = device == DeviceKind::kCpu || job.engine == EngineKind::kReference,
          .upcasts = device == DeviceKind::kCpu && bf16_compute,
          .ddp = job.devices > 1,
          .deterministic = job.deterministic,
          .accumulates = batch && batch->accumulation > 1,
          .clips = job.train.max_norm.has_value(),
          .world = job.devices};
}

int64_t SequenceLength(const JobSpec& job, const Inspection& inspection) {
  const int64_t most = job.train.max_seq_length;
  const int64_t longest = inspection.longest_row > 0 ? std::min(most, inspection.longest_row) : most;
  return RoundUp(longest, kLengthMultiple);
}

int64_t ParameterBytes(const JobSpec& job, const Setting& s) {
  return s.units.all * (job.precision == Precision::kBf16Mixed ? kFp32 + kBf16 : s.storage);
}

int64_t OptimizerBytes(const OptimizerSpec& optimizer, const Setting& s) {
  if (optimizer.name == OptimizerKind::kSgd) return optimizer.momentum > 0 ? s.units.all * s.storage : 0;
  return 2 * s.units.all * s.storage;
}

// ---- activations ----

int64_t BlockActivations(const Setting& s) {
  const ModelShape& m = s.model;
  const int64_t elements = 2 * m.hidden + (m.heads + 2 * m.kv_heads) * m.head_dim + m.heads * m.head_dim + 2 * m.intermediate;
  return s.positions * (s.compute * elements + kFp32 * (2 + m.heads));
}

int64_t HiddenBytes(const Setting& s) { return s.positions * s.compute * s.model.hidden; }

int64_t AllActivations(const Setting& s) { return s.model.layers * BlockActivations(s) + HiddenBytes(s); }

// ---- working buffers of the backward ----

int64_t HeadWork(const Setting& s) {
  int64_t bytes_per_logit = s.compute;
  if (s.reference) bytes_per_logit += kFp32 * (kReferenceLossTemporaries + (s.compute == kFp32 ? 0 : kWidenedLossInputs));
  const int64_t rows = std::min(s.positions, kHeadChunkRows);
  const int64_t widened_matrix = s.upcasts ? kFp32 * s.model.vocab * s.model.hidden : 0;
  return 2 * HiddenBytes(s) + rows * s.model.vocab * bytes_per_logit + widened_matrix;
}

int64_t BlockWork(const Setting& s) {
  const ModelShape& m = s.model;
  if (!s.reference) return s.positions * s.compute * (4 * m.intermediate + m.hidden);
  const int64_t temporaries = kReferenceSwiGluTemporaries + (s.compute == kFp32 ? 0 : kWidenedSwiGluInputs);
  const int64_t widened_matrix = s.upcasts ? kFp32 * 2 * m.intermediate * m.hidden : 0;
  return s.positions * (s.compute * (3 * m.intermediate + m.hidden) + kFp32 * temporaries * m.intermediate) + widened_matrix;
}

// While a unit's gradient is finished: the gradient norm's fp32 temporaries, and under deterministic the gradients of single micro batches.
int64_t FinishWork(const Setting& s, int64_t unit) {
  const int64_t norm = unit * kFp32 * (s.storage == kFp32 ? 1 : 2);
  const int64_t ordered = s.deterministic ? unit * s.storage * (s.ddp ? s.world + 1 : 1) : 0;
  return std::max(norm, ordered);
}

// ---- gradients alive while a unit is in backward ----

int64_t GradsAt(const Setting& s, int64_t unit, int64_t reduced_unit, int64_t held_by_clipping) {
  if (s.accumulates) return s.units.all * s.storage;
  if (s.clips) return held_by_clipping * s.storage;
  return (unit + (s.ddp ? reduced_unit : 0)) * s.storage;
}

// The largest sum, over the moments of a step, of what is neither parameters nor optimizer state.
int64_t PeakOfStep(const Setting& s) {
  const Units& u = s.units;
  const int64_t tied = s.model.tied_head ? u.embedding : 0;
  const int64_t activations = AllActivations(s), hidden = HiddenBytes(s), one_block = s.model.layers > 0 ? BlockActivations(s) : 0;
  const int64_t head =
      activations + std::max(HeadWork(s), 2 * hidden + FinishWork(s, u.head)) + GradsAt(s, u.head + tied, 0, u.head + tied);
  const int64_t last_block = activations + std::max(BlockWork(s), FinishWork(s, u.block)) +
                             GradsAt(s, u.block + tied, u.head, u.head + tied + u.block);
  const int64_t first_block = one_block + hidden + std::max(BlockWork(s), FinishWork(s, u.block)) +
                              GradsAt(s, u.block + tied, u.block, u.all - (s.model.tied_head ? 0 : u.embedding));
  const int64_t scattered = s.reference ? u.embedding * s.storage : 0;
  const int64_t embedding = hidden + std::max(scattered, FinishWork(s, u.embedding)) + GradsAt(s, u.embedding, u.block, u.all);
  return std::max({head, last_block, first_block, embedding});
}

int64_t GradsAfterBackward(const Setting& s) {
  if (s.clips) return s.units.all * s.storage;
  return s.ddp && !s.deterministic ? s.units.embedding * s.storage : 0;
}

}  // namespace

MemoryEstimate EstimateMemory(const JobSpec& job, const Inspection& inspection, DeviceKind device) {
  MemoryEstimate estimate;
  estimate.sequence_length = SequenceLength(job, inspection);
  const Setting setting = SettingOf(job, inspection, device, estimate.sequence_length);
  const MemoryByKind kept = {.params = ParameterBytes(job, setting), .optimizer = OptimizerBytes(job.optimizer, setting)};
  estimate.peak_allocated = kept.params + kept.optimizer + PeakOfStep(setting);
  estimate.phases.fill(kept);
  estimate.phases[static_cast<size_t>(Phase::kAfterForward)].other = AllActivations(setting);
  estimate.phases[static_cast<size_t>(Phase::kAfterBackward)].grads = GradsAfterBackward(setting);
  for (MemoryByKind& phase : estimate.phases) {
    phase.allocated = phase.params + phase.grads + phase.optimizer + phase.other;
    phase.peak_allocated = phase.reserved = estimate.peak_allocated;
  }
  return estimate;
}

}  // namespace trainctl::job
