// Random jobs of the whole schema, features that are not built yet included; each value is one that
// the schema allows.
#pragma once

#include <rapidcheck.h>

#include "common/job/job.h"

namespace trainctl::job {

rc::Gen<JobSpec> RandomJob();

}  // namespace trainctl::job
