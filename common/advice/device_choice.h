// Which devices of a site the ways of a job are looked for on. Pure, thread-safe.
#pragma once

#include <cstddef>
#include <vector>

#include "common/base/result.h"
#include "common/job/job.h"
#include "common/job/site.h"

namespace trainctl::advice {

// The equal devices that the job may use, by their places in `site`: GPUs where there are any, else
// CPU slots; of several models those with most memory. kInvalid: none meets the job's constraints.
base::Result<std::vector<size_t>> ChooseDevices(const job::JobSpec& job,
                                                const std::vector<job::SiteDevice>& site);

}  // namespace trainctl::advice
