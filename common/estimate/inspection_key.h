// Which jobs have one inspection.
#pragma once

#include <string>

#include "common/job/job.h"

namespace trainctl::job {

// The job's JSON with all that an inspection does not depend on left at its defaults: jobs of one
// key have one inspection.
std::string InspectionKey(const JobSpec& job);

}  // namespace trainctl::job
