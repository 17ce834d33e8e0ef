// What files of its host a job names, and what it does with them. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/base/file_roots.h"
#include "common/job/job.h"

namespace trainctl::job {

struct JobPath {
  std::string key;  // of the job, as in "eval.images[1]"
  std::string path;
  base::FileUse use = base::FileUse::kRead;
  bool needed = false;  // it must be there before the job starts
};

// Without ids of models, which the rank seeks in the Hugging Face cache. Checkpoints are not
// needed: ranks look for them together.
std::vector<JobPath> PathsOf(const JobSpec& job);

}  // namespace trainctl::job
