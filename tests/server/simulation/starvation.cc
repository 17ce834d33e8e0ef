#include "tests/server/simulation/starvation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/core/fair_share.h"
#include "server/core/quota.h"
#include "server/core/waiting.h"

namespace trainctl::core {
namespace {

// Who has devices or a lease, or had some after that time, as it was at another.
std::set<std::string> UsersWithDevicesSince(const Ledger& ledger, base::WallMicros then,
                                            base::WallMicros at) {
  std::set<std::string> users;
  for (const auto& [key, attempt] : ledger.attempts()) {
    const bool is_since = attempt.ended_at == 0 || attempt.ended_at > then;
    if (is_since) users.insert(ledger.jobs().at(attempt.job).row.user);
  }
  for (const UseRow& use : ledger.removed_use()) {
    if (use.to > then) users.insert(use.user);
  }
  for (const auto& [id, lease] : ledger.leases()) {
    // One that is over has begun, also where the clock was set back before that.
    const bool has_begun = lease.over_at != 0 || lease.start < at;
    const bool is_since = has_begun && lease.end > std::max(then, lease.start);
    if (is_since) users.insert(lease.user);
  }
  return users;
}

bool WaitsForDevices(const State& state, const Job& job) {
  const bool has_place = job.lane == Lane::kQueue || job.lane == Lane::kUninspected;
  return has_place && !job.row.spec.resources.lease && !PossibleClasses(state, job).empty() &&
         !ExceedsQuota(state, job);
}

// By priority, then by age; a job is not looked for behind one that is newer than that time.
const Job* OldestOf(const State& state, const std::string& user, base::WallMicros then) {
  std::map<int64_t, std::vector<const Job*>, std::greater<>> by_priority;
  for (const auto& [id, job] : state.jobs) {
    if (job.row.user == user) by_priority[job::PriorityOf(job.row.spec)].push_back(&job);
  }
  for (const auto& [priority, jobs] : by_priority) {
    for (const Job* job : jobs) {
      if (job->row.submitted_at > then) break;
      if (job->status.state == job::JobState::kQueued && WaitsForDevices(state, *job)) return job;
    }
  }
  return nullptr;
}

}  // namespace

void NobodyInFrontCouldStart(const State& state) {
  for (const Job* job : FirstOfTheirLines(state)) {
    ASSERT_FALSE(CouldStart(state, *job))
        << base::ToString(job->row.id) << " is first in its line, could start, and waits";
  }
}

void WhoStarvesGoesFirst(const State& state, const Ledger& ledger) {
  const std::optional<int64_t>& half_life = state.options.policy.half_life_us;
  if (!half_life || state.shares.at == 0) return;
  const base::WallMicros then = state.shares.at - *half_life;
  const std::set<std::string> with_devices = UsersWithDevicesSince(ledger, then, state.shares.at);
  std::set<std::string> users;
  for (const auto& [id, job] : state.jobs) users.insert(job.row.user);
  for (const std::string& user : users) {
    const Job* oldest = with_devices.contains(user) ? nullptr : OldestOf(state, user, then);
    ASSERT_TRUE(oldest == nullptr || oldest->place().share == kLifted)
        << base::ToString(oldest->row.id) << " of " << user << " starves and does not go first";
  }
}

void WaitsInFront::Note(const State& state, const Now& now) {
  std::map<base::JobId, base::WallMicros> since;
  for (const Job* job : FirstOfTheirLines(state)) {
    if (job->retry.pause_until) continue;
    const auto known = since_.find(job->row.id);
    const base::WallMicros from = known == since_.end() ? now.wall : known->second;
    since[job->row.id] = from;
    const int64_t seconds = (now.wall - from) / 1'000'000;
    longest_seconds_ = std::max(longest_seconds_, seconds);
    ASSERT_LE(seconds, kMostSeconds)
        << base::ToString(job->row.id) << " stands first in its line, and is passed for " << seconds
        << " s: " << Reason(state, *job, now);
  }
  since_ = std::move(since);
}

}  // namespace trainctl::core
