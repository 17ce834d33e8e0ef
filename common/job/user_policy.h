// What a site grants a user, and what that means for a job of theirs: one answer for a dry run and
// for submit. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/job/job.h"
#include "common/json/problem.h"

namespace trainctl::job {

// nullopt: any number.
struct UserPolicy {
  std::optional<int64_t> max_running_devices;     // held at once (held_devices.h), but under leases
  std::optional<int64_t> max_queued_jobs;         // that wait at once
  std::optional<int64_t> max_time_limit_seconds;  // then each job has a time limit
  std::optional<int64_t> max_leased_devices;      // of all the user's leases, at any time
  std::optional<int64_t> max_lease_seconds = 86'400;   // of one lease
  int64_t min_priority = 0;                            // of what a job may ask for
  int64_t max_priority = 100;                          //
  std::optional<int64_t> max_calls_per_second = 1000;  // of the API and the dashboard together
  int64_t max_call_burst = 10'000;                     // at once, before they are counted so

  friend bool operator==(const UserPolicy&, const UserPolicy&) = default;
};

// The default, or what is nearest of what the user may ask for.
int64_t UsualPriority(const UserPolicy& policy);

// What the job leaves unsaid, as the policy has it: its priority where the default is not granted,
// and a time limit where each job must have one. Returns what people are told of that.
std::vector<std::string> FillIn(const UserPolicy& policy, const std::string& user, JobSpec* job);

// Why the job can't be taken, by what its user may ask for; what it leaves unsaid is filled in
// later. held_devices: what it would count as, at least.
std::vector<Problem> CheckPolicy(const UserPolicy& policy, const std::string& user,
                                 const JobSpec& job, int64_t held_devices);

}  // namespace trainctl::job
