// The paths that a job's ranks read on their host. Where one is missing the job may run on another
// host. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/job/job.h"

namespace trainctl::job {

struct NeededPath {
  std::string key;  // of the job, as in "eval.images[1]"
  std::string path;
};

// Without checkpoints, which ranks look for together. Without ids of models, which the rank seeks
// in the Hugging Face cache.
std::vector<NeededPath> NeededPaths(const JobSpec& job);

}  // namespace trainctl::job
