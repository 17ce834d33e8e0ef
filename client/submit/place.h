// Where a job would run now, or what it would wait for: in words, as `status` would say it.
#pragma once

#include <string>
#include <vector>

#include "client/submit/assessment.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

// The lease that the job names; nullptr: none of these.
const v1::Lease* OwnLease(const job::JobSpec& job, const v1::LeasesResponse& leases);

// "host/0, host/1 (NVIDIA H200), free now", or what it would wait for: other jobs, leases, the
// start of its own lease. leases: of the site; none where they are not known.
std::string PlaceText(const Assessment& assessment, const v1::LeasesResponse& leases);

}  // namespace trainctl::client
