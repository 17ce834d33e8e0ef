// What the check of a job against a site needs to know: the stored inventory, LOST devices
// included.
#pragma once

#include <string>
#include <vector>

#include "common/job/job.h"
#include "common/json/problem.h"

namespace trainctl::job {

struct SiteDevice {
  std::string kind;  // cuda | cpu
  std::string host;
  std::string name;
  int64_t memory_bytes = 0;
  std::string compute_capability;
};

// Faults of the site for this job: more devices than there are, constraints or a precision that
// none meets. Empty: none.
std::vector<Problem> CheckSite(const JobSpec& job, const std::vector<SiteDevice>& devices);

// Whether one device meets the job's constraints, and computes in its precision; the reason where
// it does not.
bool MeetsConstraints(const JobSpec& job, const SiteDevice& device, std::string* reason);

}  // namespace trainctl::job
