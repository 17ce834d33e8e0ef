// What a job amounts to once its rows are known: batches, steps, warm-up. Everything that `submit
// --dry-run` prints and a rank counts by. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/job/batch.h"
#include "common/job/job.h"

namespace trainctl::job {

struct RunPlan {
  JobSpec job;  // resolved: strategy is not auto
  BatchPlan batch;
  Split split;
  int64_t sequences = 0;  // that batches are made of: the training rows, packed or one by one
  int64_t steps_per_epoch = 0;
  int64_t total_steps = 0;  // optimizer steps
  int64_t warmup_steps = 0;
  std::vector<std::string>
      notes;  // NotesOn(job), and a warm-up that outlasts the run, rows that no step trains on
};

// rows: of the data file (Inspection.rows). packed_sequences: of the inspection too, for
// train.packing; 0: counts rows instead. kInvalid: indivisible batches, or fewer sequences than one
// global batch.
// validation_rows: those of their own (data.val_path, data.val_split).
base::Result<RunPlan> PlanRun(const JobSpec& job, int64_t rows, int64_t packed_sequences = 0,
                              int64_t validation_rows = 0);

}  // namespace trainctl::job
