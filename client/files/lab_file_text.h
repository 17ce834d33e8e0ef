// Accepted jobs as the lab file that would submit them again. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/job/job.h"

namespace trainctl::client {

// {"base": the first job, "experiments": [{"name", "set": {what differs from it}}]}, indented.
// Where the jobs write to their own names in one folder, the base's output.dir is that folder.
// ReadJobFile reads it back to equal jobs.
std::string LabFileText(const std::vector<job::JobSpec>& jobs);

}  // namespace trainctl::client
