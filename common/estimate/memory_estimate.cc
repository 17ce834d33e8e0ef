#include "common/estimate/memory_estimate.h"

#include <algorithm>

#include "common/estimate/memory_activations.h"
#include "common/estimate/memory_continuing.h"
#include "common/estimate/memory_forward.h"
#include "common/estimate/memory_setting.h"
#include "common/estimate/memory_state.h"
#include "common/estimate/memory_step.h"
#include "common/job/trains.h"
#include "common/model/layout.h"

namespace trainctl::job {
namespace {

constexpr int64_t kMostLength = int64_t{1} << 40;

// Token ids and targets of the micro batch, and rotary tables. These are of the longest row
// allowed, or of a longer text that is continued. Packed rows have their places too, and those
// tables for each position. A row beyond the positions of dynamic scaling has tables of its own.
int64_t BesideModel(const MemorySetting& s) {
  constexpr int64_t kIdBytes = 8;
  const int64_t longest = PaddedLength(
      std::min(std::max(s.job.train.max_seq_length, LongestText(s.job, s.model)), kMostLength));
  const int64_t packed =
      s.job.train.packing ? s.positions * (kIdBytes + kFp32Bytes * s.model.head_dim) : 0;
  const bool is_dynamic = s.model.rope_scaling && s.model.rope_scaling->type == RopeType::kDynamic;
  const int64_t own = is_dynamic && !s.job.train.packing && s.longest_row > s.model.max_positions
                          ? kFp32Bytes * s.longest_row * s.model.head_dim
                          : 0;
  return 2 * kIdBytes * s.positions + kFp32Bytes * longest * s.model.head_dim + packed + own +
         s.MatrixWorkspaceBytes();
}

// The whole weights as the forward of the last micro step begins. The first unit is fetched ahead.
// Behind another micro step the second one has stayed whole.
int64_t GatheredBeforeForward(const MemorySetting& s) {
  const std::vector<EncoderElements>& encoder = s.units.encoder;
  const bool goes_on = s.accumulates;
  if (s.residency == Residency::kModel || (s.residency == Residency::kStep && goes_on))
    return goes_on ? AllGatheredBytes(s) : 0;
  const int64_t first =
      GatheredBytes(s, encoder.empty() ? s.units.embedding : encoder.front().elements);
  const UnitElements& second = encoder.empty()       ? s.units.block
                               : encoder.size() == 1 ? s.units.embedding
                                                     : encoder[1].elements;
  return first + (goes_on ? GatheredBytes(s, second) : 0);
}

// The head is fetched ahead of the backward, and the last block stays beside it. A tied head is two
// units, and there the block does not stay.
int64_t GatheredAfterForward(const MemorySetting& s) {
  if (s.residency != Residency::kUse) return AllGatheredBytes(s);
  return GatheredBytes(s, s.units.head) + (s.units.tied_head ? 0 : GatheredBytes(s, s.units.block));
}

int64_t GatheredAfterBackward(const MemorySetting& s) {
  return s.residency == Residency::kModel ? AllGatheredBytes(s) : 0;
}

// Of validation rows that are longer than those that are trained on; packed ones are as long as
// those.
int64_t PeakOfLongerRows(const JobSpec& job, const Inspection& inspection, DeviceKind device,
                         const MemorySetting& of_step) {
  const int64_t most = job.train.max_seq_length;
  const int64_t found = std::min(most, inspection.longest_validation_row);
  if (found <= inspection.longest_row || inspection.sampled_rows > 0) return 0;
  MemorySetting setting = MemorySettingOf(job, inspection.model, device, PaddedLength(found, most));
  setting.longest_row = of_step.longest_row;
  setting.holds_gradients = of_step.holds_gradients;
  return PeakOfValidation(setting);
}

}  // namespace

int64_t SequenceLength(const JobSpec& job, const Inspection& inspection) {
  const int64_t most = job.train.max_seq_length;
  // The rest of the data may have longer rows than a sample of it.
  if (inspection.sampled_rows > 0) return PaddedLength(most, most);
  const int64_t found = job.train.packing ? inspection.longest_sequence : inspection.longest_row;
  return PaddedLength(found > 0 ? std::min(most, found) : most, most);
}

int64_t LongestRow(const Inspection& inspection) {
  return std::max(inspection.longest_row, inspection.longest_validation_row);
}

MemoryEstimate EstimateMemory(const JobSpec& job, const Inspection& inspection, DeviceKind device,
                              bool holds_gradients) {
  if (!Trains(job)) return EstimateContinuing(job, inspection.model, device);
  MemoryEstimate estimate;
  estimate.sequence_length = SequenceLength(job, inspection);
  MemorySetting setting = MemorySettingOf(job, inspection.model, device, estimate.sequence_length);
  if (inspection.sampled_rows == 0 && inspection.longest_row > 0)
    setting.longest_row = std::min(setting.longest_row, LongestRow(inspection));
  setting.holds_gradients = holds_gradients && setting.may_hold_gradients();
  if (setting.may_hold_gradients()) estimate.holds_gradients = setting.holds_gradients;
  const MemoryByKind kept = {.params = HeldParameterBytes(setting),
                             .optimizer = OptimizerBytes(setting),
                             .optimizer_cpu = HostOptimizerBytes(setting)};
  const int64_t host = setting.is_cpu ? kept.optimizer_cpu : 0;
  const int64_t beside = BesideModel(setting);
  estimate.peak_allocated =
      kept.params + kept.optimizer + host + beside +
      std::max({PeakOfStep(setting), PeakOfLongerRows(job, inspection, device, setting),
                PeakOfPrompts(job, inspection.model, device)});
  estimate.phases.fill(kept);
  for (MemoryByKind& phase : estimate.phases) phase.other = beside;
  const auto at = [&](Phase phase) -> MemoryByKind& {
    return estimate.phases[static_cast<size_t>(phase)];
  };
  at(Phase::kBeforeForward).params += GatheredBeforeForward(setting);
  at(Phase::kAfterForward).params += GatheredAfterForward(setting);
  at(Phase::kAfterBackward).params += GatheredAfterBackward(setting);
  at(Phase::kBeforeForward).grads = at(Phase::kAfterForward).grads = GradsBeforeForward(setting);
  at(Phase::kAfterBackward).grads = GradsAfterBackward(setting);
  at(Phase::kAfterForward).other += AllActivations(setting);
  for (MemoryByKind& phase : estimate.phases) {
    phase.allocated = phase.params + phase.grads + phase.optimizer + host + phase.other;
    phase.peak_allocated = phase.reserved = estimate.peak_allocated;
  }
  return estimate;
}

}  // namespace trainctl::job
