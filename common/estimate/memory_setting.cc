#include "common/estimate/memory_setting.h"

#include <algorithm>

#include "common/job/batch.h"
#include "common/job/check_job.h"
#include "common/model/layout.h"

namespace trainctl::job {
namespace {

constexpr int64_t kMostPositions = int64_t{1}
                                   << 28;  // more fit no device; bytes stay within 64 bits

}  // namespace

int64_t MemorySetting::ShardOf(int64_t elements) const {
  if (!is_fsdp) return elements;
  const int64_t multiple = world * kTensorAlignment;
  return (elements + multiple - 1) / multiple * kTensorAlignment;
}

int64_t MemorySetting::WindowPieceBytes() const {
  if (!is_cpu || !model.IsLocalAt(longest_row)) return 0;
  const int64_t window = model.sliding_window, length = std::min(window, kMostWindowPiece);
  const int64_t keys = length + window - 1;
  const int64_t heads = (job.train.packing ? 1 : samples) * model.heads * model.head_dim;
  return kFp32Bytes * (length * keys + heads * (length + 2 * keys));
}

MemorySetting MemorySettingOf(const JobSpec& asked, const ModelShape& model, DeviceKind device,
                              int64_t sequence_length) {
  const JobSpec job = ResolveJob(asked);
  const auto batch = PlanBatch(job);
  const bool is_fsdp = job.strategy == StrategyKind::kFsdp && job.devices > 1;
  const bool is_one_unit = is_fsdp && job.fsdp_unit == FsdpUnit::kModel;
  return {.job = job,
          .model = model,
          .units = UnitsOf(job, model),
          .positions =
              std::min(job.train.micro_batch_size.value_or(1) * sequence_length, kMostPositions),
          .samples = std::min(job.train.micro_batch_size.value_or(1), kMostPositions),
          .longest_row = std::min(sequence_length, kMostPositions),
          .storage_bytes = job.precision == Precision::kBf16True ? kBf16Bytes : kFp32Bytes,
          .compute_bytes = job.precision == Precision::k32True ? kFp32Bytes : kBf16Bytes,
          .world = job.devices,
          .is_cpu = device == DeviceKind::kCpu,
          .is_reference = device == DeviceKind::kCpu || job.engine == EngineKind::kReference,
          .is_fsdp = is_fsdp,
          .shards_trainable = is_fsdp && !job.lora,
          .residency = !is_fsdp                            ? Residency::kNone
                       : is_one_unit                       ? Residency::kModel
                       : job.sharding == Sharding::kGradOp ? Residency::kStep
                                                           : Residency::kUse,
          .micro_steps = batch ? batch->accumulation : 1,
          .accumulates = batch && batch->accumulation > 1,
          .clips = job.train.max_norm.has_value()};
}

}  // namespace trainctl::job
