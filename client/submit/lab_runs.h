// Who has run which experiment of a lab: what `trainctl class` and `trainctl recipes ls` tell.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/api.h"
#include "common/job/job.h"

namespace trainctl::client {

// One user's of one experiment. Of several the newest that is done as the lab has it; else the
// newest that is done with other settings, the newest that goes on, the newest.
//
// as_expected of the job is whether it ended as the lab expects, whatever its own job file says.
struct LabRun {
  std::string user, experiment;
  std::optional<v1::JobView> job;    // none: not run yet
  int64_t runs = 0;                  // in all
  std::vector<std::string> changed;  // DifferencesFromLab, of the job and the earlier ones
  // The user's jobs that it goes on from, the latest first: it is the last part of the run. Empty
  // where one of them is another user's or not known any more; `changed` then says what it resumes.
  std::vector<std::string> earlier = {};
};

// It ended as the lab expects, with the lab's settings.
bool IsDone(const LabRun& run);

// Of one user.
struct LabProgress {
  int64_t experiments = 0, done = 0;
  int64_t done_otherwise = 0;  // ended as the lab expects, with other settings

  void Add(const LabRun& run);
};
// "3 of 4 done, 1 with other settings".
std::string ProgressText(const LabProgress& progress);

// For each user all experiments, both in their order. A run is one of a job with the experiment's
// name. No users: all who have run one, by name. kExhausted: there are more of one experiment (and
// user, where there are) than the coordinator tells of. Other errors are the coordinator's.
base::Result<std::vector<LabRun>> FindLabRuns(Api& api,
                                              const std::vector<job::JobSpec>& experiments,
                                              std::vector<std::string> users);

}  // namespace trainctl::client
