// The text of a site's policy file → SitePolicy. Pure.
//
//   {
//     "users": {
//       "*":    {"max_running_devices": 8, "max_queued_jobs": 200,
//                "min_priority": 0, "max_priority": 60, "max_time_limit": "24h",
//                "max_leased_devices": 4, "max_lease_time": "24h",
//                "max_calls_per_second": 1000, "max_call_burst": 10000},
//       "anna": {"max_running_devices": 16, "max_time_limit": null}
//     },
//     "fair_share": {"half_life": "7d"},
//     "preemption": {"min_run_time": "10min"},
//     "max_queued_jobs": 10000
//   }
//
// "*" holds for everybody; what a user's own entry says goes before it. null: no bound. Every part
// may be left out. "preemption": null: no job ever takes another's devices.
// A lease lasts a day at most where max_lease_time is not said, and at most 366 days in any case.
// max_queued_jobs beside "users" bounds all of them together.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"
#include "server/core/site_policy.h"

namespace trainctl::core {

constexpr size_t kMaxPolicyBytes = size_t{1} << 20;

// kInvalid: every fault is listed with its line and key, after `name`, which is the file's.
base::Result<SitePolicy> ReadSitePolicy(std::string_view text, const std::string& name);

}  // namespace trainctl::core
