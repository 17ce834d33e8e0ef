#include "common/job/run_plan.h"

#include <utility>

#include "common/base/plural.h"
#include "common/base/size.h"
#include "common/job/check_job.h"
#include "common/job/trains.h"

namespace trainctl::job {
namespace {

// Steps that are asked for and lie beyond the run's end.
void NoteStepsBeyond(RunPlan& plan) {
  const JobSpec& job = plan.job;
  const TrainSpec& train = job.train;
  const bool is_one_epoch = train.epochs == TrainSpec().epochs;  // most likely it was never named
  if (is_one_epoch && train.max_steps.value_or(0) > plan.total_steps) {
    plan.notes.push_back("train.max_steps " + base::WithThousands(*train.max_steps) +
                         " is not reached: train.epochs is 1, which makes " +
                         base::Plural(plan.total_steps, "step"));
  }
  const std::string beyond =
      " is more than the run's " + base::Plural(plan.total_steps, "step") + ": ";
  if (job.checkpoint.every_steps.value_or(0) > plan.total_steps) {
    plan.notes.push_back("checkpoint.every_steps " +
                         base::WithThousands(*job.checkpoint.every_steps) + beyond +
                         "there is no checkpoint, unless it is stopped before its end");
  }
  const bool evaluates = Validates(job.data) || !job.eval.prompts.empty();
  if (evaluates && Trains(job) && job.eval.every_steps.value_or(0) > plan.total_steps) {
    plan.notes.push_back("eval.every_steps " + base::WithThousands(*job.eval.every_steps) + beyond +
                         "it is evaluated at its end alone");
  }
}

void NoteWarmup(RunPlan& plan) {
  const bool already_noted = plan.job.train.max_steps &&
                             plan.job.train.lr_warmup_steps.value_or(0) > *plan.job.train.max_steps;
  if (plan.warmup_steps <= plan.total_steps || already_noted) return;
  plan.notes.push_back("the warm-up (" + base::WithThousands(plan.warmup_steps) +
                       " steps) is longer than the run (" + base::WithThousands(plan.total_steps) +
                       "): the learning rate stays on the ramp");
}

void NoteLeftOver(const CountedRows& counted, RunPlan& plan) {
  const int64_t left_over = counted.is_estimate ? 0 : plan.sequences % plan.batch.global;
  if (left_over == 0) return;
  const std::string rest = left_over == 1 ? " an epoch is left over: it fills no global batch"
                                          : "s an epoch are left over: they fill no global batch";
  plan.notes.push_back(base::WithThousands(left_over) + " " + SequenceWord(plan.job) + rest);
}

void AddNotes(const CountedRows& counted, RunPlan& plan) {
  plan.notes = NotesOn(plan.job);
  NoteStepsBeyond(plan);
  NoteWarmup(plan);
  NoteLeftOver(counted, plan);
}

}  // namespace

base::Result<RunPlan> PlanRun(const JobSpec& job, const CountedRows& counted) {
  auto batch = PlanBatch(job);
  if (!batch) return batch.error();
  RunPlan plan{.job = ResolveJob(job), .batch = *batch, .split = SplitRows(job.data, counted.rows)};
  if (HasValidationData(job.data)) plan.split.val_rows = counted.validation_rows;
  const bool is_packed = job.train.packing && counted.packed_sequences > 0;
  plan.sequences = is_packed ? counted.packed_sequences : plan.split.train_rows;
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
  AddNotes(counted, plan);
  return plan;
}

}  // namespace trainctl::job
