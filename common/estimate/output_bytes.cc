#include "common/estimate/output_bytes.h"

#include <string>

#include "common/base/size.h"
#include "common/estimate/memory_setting.h"
#include "common/estimate/memory_state.h"
#include "common/job/saved_weights.h"

namespace trainctl::job {
namespace {

// The job's state as one rank alone would hold it.
MemorySetting OfOneRank(const JobSpec& job, const ModelShape& model) {
  MemorySetting setting = MemorySettingOf(job, model, DeviceKind::kCuda, 0);
  setting.world = 1;
  setting.is_fsdp = setting.shards_trainable = false;
  return setting;
}

int64_t CheckpointBytes(const MemorySetting& s) {
  const int64_t trainable =
      SumOverUnits(s.units, [](const UnitElements& unit) { return unit.trainable; });
  const int64_t masters = s.job.offload_optimizer ? 0 : s.storage_bytes * trainable;
  return masters + OptimizerBytes(s) + HostOptimizerBytes(s);
}

int64_t ResultBytes(const MemorySetting& s) {
  const JobSpec& job = s.job;
  const int64_t values = SumOverUnits(s.units, [&](const UnitElements& unit) {
    const int64_t own = unit.frozen + unit.quantized + (job.lora ? 0 : unit.trainable);
    return SavesAdapter(job) ? unit.trainable : own;
  });
  return InfoOf(SavedTypeOf(job)).bytes * values;
}

bool GoesOnInItsFolder(const JobSpec& job, const Inspection& inspection) {
  return job.checkpoint.resume_job && inspection.output && inspection.output->owner &&
         inspection.output->owner->job == *job.checkpoint.resume_job;
}

std::string HintText(const OutputBytes& bytes, int64_t free_bytes) {
  std::string text = "it has " + base::FormatBytes(free_bytes) + " free";
  if (bytes.checkpoint > 0) {
    text += "; a checkpoint takes " + base::FormatBytes(bytes.checkpoint) + ", and up to " +
            std::to_string(bytes.at_once) + " are there at once";
  }
  if (bytes.result > 0) text += "; the result takes " + base::FormatBytes(bytes.result);
  return text + ": make room, name another folder, or submit it all the same with --force";
}

}  // namespace

OutputBytes EstimateOutput(const RunPlan& plan, const Inspection& inspection) {
  const JobSpec& job = plan.job;
  const MemorySetting setting = OfOneRank(job, inspection.model);
  OutputBytes bytes;
  if (!job.output.dir) return bytes;
  if (job.output.save != Save::kNone) bytes.result = ResultBytes(setting);
  const int64_t every = job.checkpoint.every_steps.value_or(0);
  const int64_t written = every > 0 ? plan.total_steps / every - inspection.resume_step / every : 0;
  if (written <= 0) return bytes;
  bytes.checkpoint = CheckpointBytes(setting);
  const bool keeps_best = job.checkpoint.keep_best && plan.split.val_rows > 0;
  const int64_t most_kept = job.checkpoint.keep_last + (keeps_best ? 1 : 0);
  if (GoesOnInItsFolder(job, inspection)) {
    bytes.at_once = 1;
  } else {
    bytes.at_once = std::min(written, most_kept + 1);
    bytes.staying = std::min(written, most_kept);
  }
  return bytes;
}

std::optional<Problem> CheckOutputRoom(const RunPlan& plan, const Inspection& inspection) {
  if (!inspection.output || !inspection.output->free_bytes) return std::nullopt;
  const OutputBytes bytes = EstimateOutput(plan, inspection);
  const int64_t free_bytes = *inspection.output->free_bytes;
  if (bytes.most() <= free_bytes) return std::nullopt;
  return Problem{"output.dir", 0, "\"" + *plan.job.output.dir + "\"",
                 "a disk with room for " + base::FormatBytes(bytes.most()),
                 HintText(bytes, free_bytes)};
}

}  // namespace trainctl::job
