// What a site grants its users: how much each may have, ask and queue, whose jobs go first, and
// when one may take another's devices. Only calls and the queue are bound until a site says so
// (policy_file.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/job/user_policy.h"

namespace trainctl::core {

using job::UserPolicy;

// Use counts for a fair share until it is so many half-lives old.
constexpr int64_t kHalfLives = 10;

struct SitePolicy {
  int64_t max_queued_jobs = 10'000;         // of all users, that wait at once
  UserPolicy everyone;                      // whoever is not named
  std::map<std::string, UserPolicy> users;  // by name, whole
  std::optional<int64_t> half_life_us;      // of use; nullopt: there is no fair share
  // After a job's end most of its points go (store/point_thinner.h); nullopt: never.
  std::optional<int64_t> points_after_us;
  // After a job's end what its ranks wrote goes; nullopt: never.
  std::optional<int64_t> logs_after_us;
  // For how long a job that may be preempted keeps its devices for certain; nullopt: for ever.
  std::optional<int64_t> preempt_after_us = 600'000'000;

  // A job without an owner, which older coordinators took, has no bounds.
  UserPolicy Of(const std::string& user) const {
    if (user.empty()) return {};
    const auto named = users.find(user);
    return named == users.end() ? everyone : named->second;
  }
};

}  // namespace trainctl::core
