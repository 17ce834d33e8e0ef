// A job that ran beside another.
#pragma once

#include <string>

#include "common/base/ids.h"

namespace trainctl::job {

// Another job with a rank on one of a job's hosts, while the job ran there.
struct Neighbour {
  base::JobId job;
  std::string host;
  bool on_slots = false;  // both ran on CPU slots there: on the same processors
};

}  // namespace trainctl::job
