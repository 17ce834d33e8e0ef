#include "common/job/run_plan.h"

#include <utility>

#include "common/base/size.h"
#include "common/job/check_job.h"
#include "common/job/trains.h"

namespace trainctl::job {
namespace {

void AddNotes(RunPlan& plan) {
  plan.notes = NotesOn(plan.job);
  const bool already_noted = plan.job.train.max_steps &&
                             plan.job.train.lr_warmup_steps.value_or(0) > *plan.job.train.max_steps;
  if (plan.warmup_steps > plan.total_steps && !already_noted) {
    plan.notes.push_back("the warm-up (" + base::WithThousands(plan.warmup_steps) +
                         " steps) is longer than the run (" +
                         base::WithThousands(plan.total_steps) +
                         "): the learning rate stays on the ramp");
  }
  const int64_t left_over = plan.sequences % plan.batch.global;
  if (left_over > 0)
    plan.notes.push_back(base::WithThousands(left_over) + " " + SequenceWord(plan.job) +
                         "s an epoch are left over: they fill no global batch");
}

}  // namespace

base::Result<RunPlan> PlanRun(const JobSpec& job, int64_t rows, int64_t packed_sequences,
                              int64_t validation_rows) {
  auto batch = PlanBatch(job);
  if (!batch) return batch.error();
  RunPlan plan{.job = ResolveJob(job), .batch = *batch, .split = SplitRows(job.data, rows)};
  if (HasValidationData(job.data)) plan.split.val_rows = validation_rows;
  plan.sequences =
      job.train.packing && packed_sequences > 0 ? packed_sequences : plan.split.train_rows;
  plan.steps_per_epoch = StepsPerEpoch(plan.batch, plan.sequences);
  if (plan.steps_per_epoch == 0 && Trains(job)) {
    return base::Error{base::Code::kInvalid,
                       base::WithThousands(plan.sequences) + " training " + SequenceWord(job) +
                           "s do not fill one global batch of " +
                           base::WithThousands(plan.batch.global) +
                           ": use a smaller train.global_batch_size or more data"};
  }
  plan.total_steps = TotalSteps(job, plan.batch, plan.sequences);
  plan.warmup_steps = WarmupSteps(job.train, plan.total_steps);
  AddNotes(plan);
  return plan;
}

}  // namespace trainctl::job
