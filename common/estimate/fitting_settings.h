// Changes of a job that would make it fit a site, for a job that does not. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/estimate/inspection.h"
#include "common/job/job.h"
#include "common/job/site.h"

namespace trainctl::job {

struct FittingSetting {
  std::string overrides;  // as typed behind `trainctl submit FILE`: "--train.micro_batch_size 4
                          // --activation_checkpointing true"
  int64_t peak_bytes = 0;
  JobSpec job;  // with the change made
};

// At most four, cheapest change first. Those that leave the result as it is come first: a smaller
// micro batch with accumulation, checkpointing, both; sharding over the site's devices, the
// optimizer in host memory. Then come those that change it: bf16, LoRA, QLoRA. Each passes the
// check of a job, its model and the site. Each fits by its estimate with a margin (fit.h). The
// global batch stays.
std::vector<FittingSetting> FindFittingSettings(const JobSpec& job, const Inspection& inspection,
                                                const std::vector<SiteDevice>& devices);

}  // namespace trainctl::job
