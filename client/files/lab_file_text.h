// Accepted jobs as the lab file that would submit them again. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/job/job.h"

namespace trainctl::client {

// {"base": the first job, "experiments": [{"name", "set": {what differs from it}}]}, indented.
// ReadJobFile reads it back to equal jobs.
std::string LabFileText(const std::vector<job::JobSpec>& jobs);

}  // namespace trainctl::client
