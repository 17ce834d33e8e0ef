// Whether a job may go on from an earlier one: not from one that has nothing left to train, and
// never over its model. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/job/job.h"
#include "common/json/problem.h"

namespace trainctl::job {

// The job that another goes on from, once it has ended.
struct ResumedRun {
  std::string id;  // "j12"
  JobSpec spec;
  bool succeeded = false;
  bool has_model = false;  // it has saved more than checkpoints
  int64_t step = 0;        // optimizer steps done
  int64_t steps = 0;       // of the whole run; 0: not known
};

// Neither a checkpoint nor a trace: kind as RankSaved's.
bool IsModel(const std::string& artifact_kind);

// It has made all its steps, and saved what it was to save.
bool HasNothingLeft(const ResumedRun& run);

// A problem says what to do instead. total_steps: of the new job; nullopt: its data are not known.
// One that failed after its last step, before it saved its model, may go on and save it.
std::optional<Problem> CheckResumedRun(const JobSpec& job, std::optional<int64_t> total_steps,
                                       const ResumedRun& earlier);

}  // namespace trainctl::job
