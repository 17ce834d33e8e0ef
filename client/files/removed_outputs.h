// Jobs that are removed with the files that they have saved, one after the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/api.h"
#include "client/show/output.h"

namespace trainctl::client {

struct RemovedOutputs {
  Listing listing;  // of "jobs": those that were removed, with their files
  int64_t files = 0, bytes = 0;
  std::vector<std::string> left;      // "alpha: /out: stays, with notes.txt"
  std::vector<base::Error> failures;  // of jobs that were kept
};

// In the order of the jobs: one that went on in another's folder must come before it. look_only:
// nothing is removed, it is told what would be. What one job keeps from being removed ends nothing;
// any other error ends it, and is the last of the failures.
RemovedOutputs RemoveWithOutputs(Api& api, const std::vector<v1::JobView>& jobs, bool look_only);

}  // namespace trainctl::client
