// The jobs that a job is to follow (resources.after), which people call by name.
#pragma once

#include "client/context.h"
#include "client/submit/job_file.h"
#include "common/base/result.h"

namespace trainctl::client {

// With ids in place of names; of a group all its jobs. Where several have a name, the newest is
// meant, and a note says so. Without a coordinator nothing is changed. kNotFound, kUnavailable.
base::Result<JobFile> ResolveDependencies(Context& context, JobFile file);

}  // namespace trainctl::client
