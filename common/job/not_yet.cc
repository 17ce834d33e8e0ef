#include "common/job/not_yet.h"

namespace trainctl::job {
namespace {

constexpr NotYet kNotYet[] = {
    {"profile", [](const JobSpec& job) { return job.profile.has_value(); }, "null", "the profiler"},
    {"resources.after", [](const JobSpec& job) { return job.resources.after.has_value(); }, "null",
     "one job after another"},
    {"resources.lease", [](const JobSpec& job) { return job.resources.lease.has_value(); }, "null",
     "leases"},
};

}  // namespace

std::vector<Problem> FindNotYet(const JobSpec& job) {
  std::vector<Problem> problems;
  for (const NotYet& row : kNotYet) {
    if (row.is_asked(job)) {
      problems.push_back({std::string(row.key), 0, "", std::string(row.expected),
                          std::string(row.feature) + " is not built yet"});
    }
  }
  return problems;
}

}  // namespace trainctl::job
