#include "common/job/user_policy.h"

#include <algorithm>

#include "common/base/size.h"

namespace trainctl::job {
namespace {

std::string WhosePolicy(const std::string& user) { return "this site's policy for " + user; }

std::string RangeText(const UserPolicy& policy) {
  return "from " + std::to_string(policy.min_priority) + " to " +
         std::to_string(policy.max_priority);
}

}  // namespace

int64_t UsualPriority(const UserPolicy& policy) {
  return std::clamp(kDefaultPriority, policy.min_priority, policy.max_priority);
}

std::vector<std::string> FillIn(const UserPolicy& policy, const std::string& user, JobSpec* job) {
  std::vector<std::string> told;
  ResourceSpec& resources = job->resources;
  if (!resources.priority && UsualPriority(policy) != kDefaultPriority) {
    resources.priority = UsualPriority(policy);
    told.push_back("resources.priority is " + std::to_string(*resources.priority) + ", by " +
                   WhosePolicy(user));
  }
  if (!resources.time_limit_seconds && policy.max_time_limit_seconds) {
    resources.time_limit_seconds = policy.max_time_limit_seconds;
    told.push_back("resources.time_limit is " + base::SpellDuration(*resources.time_limit_seconds) +
                   ", by " + WhosePolicy(user));
  }
  return told;
}

std::vector<Problem> CheckPolicy(const UserPolicy& policy, const std::string& user,
                                 const JobSpec& job, int64_t held_devices) {
  const std::string why = WhosePolicy(user);
  std::vector<Problem> problems;
  const std::optional<int64_t>& priority = job.resources.priority;
  if (priority && (*priority < policy.min_priority || *priority > policy.max_priority)) {
    problems.push_back({"resources.priority", 0, std::to_string(*priority),
                        "a priority " + RangeText(policy), why});
  }
  const std::optional<int64_t>& most = policy.max_running_devices;
  if (most && held_devices > *most && !job.resources.lease) {
    const bool are_more = held_devices > job.devices;
    problems.push_back(
        {"devices", 0, std::to_string(held_devices) + (are_more ? " of its whole hosts" : ""),
         "at most " + std::to_string(*most) + ", all that one user may have at once", why});
  }
  const std::optional<int64_t>& longest = policy.max_time_limit_seconds;
  const std::optional<int64_t>& limit = job.resources.time_limit_seconds;
  if (longest && limit && *limit > *longest) {
    problems.push_back({"resources.time_limit", 0, base::SpellDuration(*limit),
                        "a time of at most " + base::SpellDuration(*longest), why});
  }
  return problems;
}

}  // namespace trainctl::job
