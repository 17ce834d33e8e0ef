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

// What was found of the data (CountedOf in common/estimate/inspection.h).
struct CountedRows {
  int64_t rows = 0;              // of the data file
  int64_t packed_sequences = 0;  // for train.packing; 0: counts rows instead
  int64_t validation_rows = 0;   // those of their own (data.val_path, data.val_split)
  bool is_estimate = false;      // reckoned from a sample: no note tells a rest of them
};

struct RunPlan {
  JobSpec job;  // resolved: strategy is not auto
  BatchPlan batch;
  Split split;
  int64_t sequences = 0;  // that batches are made of: the training rows, packed or one by one
  int64_t steps_per_epoch = 0;
  int64_t total_steps = 0;  // optimizer steps
  int64_t warmup_steps = 0;
  // NotesOn(job), steps that the run never comes to, and rows that no step trains on.
  std::vector<std::string> notes;
};

// kInvalid: indivisible batches, or fewer sequences than one global batch.
base::Result<RunPlan> PlanRun(const JobSpec& job, const CountedRows& counted);

}  // namespace trainctl::job
