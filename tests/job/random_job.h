// Random jobs of the whole schema; each value is one that it allows.
#pragma once

#include <rapidcheck.h>

#include "common/job/job.h"

namespace trainctl::job {

rc::Gen<JobSpec> RandomJob();

}  // namespace trainctl::job
