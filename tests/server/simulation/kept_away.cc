#include "tests/server/simulation/kept_away.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "server/core/retry.h"
#include "tests/server/describe.h"
#include "tests/server/simulation/site_facts.h"

namespace trainctl::core {
namespace {

// Workers with the rank that ended such an attempt; where none did, with all of its ranks.
std::set<std::string> WhereItFailed(const Ledger& ledger, base::JobId job) {
  std::set<std::string> workers;
  for (const auto& [key, rank] : ledger.ranks()) {
    if (key.job != job) continue;
    const std::optional<job::AttemptEnd>& end = ledger.attempts().at({job, key.attempt}).end;
    const bool has_failed =
        end && MayBeTheDevices(*end) && end->rank.value_or(key.rank) == key.rank;
    if (has_failed) workers.insert(rank.worker);
  }
  return workers;
}

bool EnoughOthersAreFree(const State& state, const Job& job, const std::set<std::string>& but) {
  std::map<Kind, int64_t> free;
  for (const auto& [name, worker] : state.workers) {
    const bool would_do =
        !but.contains(name) && IsFree(state, worker) && MayUse(state, job, worker);
    if (would_do) ++free[KindOf(state, worker)];
  }
  return std::ranges::any_of(
      free, [&](const auto& entry) { return entry.second >= job.row.spec.devices; });
}

}  // namespace

FailedOn WhereTheyMayNotGo(const State& state, const Ledger& ledger) {
  FailedOn failed_on;
  if (!state.leases.empty()) return failed_on;
  for (const base::JobId id : state.retrying) {
    const Job* job = FindJob(state, id);
    if (job == nullptr || job->attempt || job->row.spec.exclusive) continue;
    std::set<std::string> workers = WhereItFailed(ledger, id);
    std::erase_if(workers, [&](const std::string& name) { return !state.workers.contains(name); });
    if (!workers.empty() && EnoughOthersAreFree(state, *job, workers))
      failed_on[id] = std::move(workers);
  }
  return failed_on;
}

void TheyKeepAway(const State& state, const FailedOn& failed_on) {
  for (const auto& [id, workers] : failed_on) {
    const Job* job = FindJob(state, id);
    if (job == nullptr) continue;
    for (const std::string& worker : workers)
      ASSERT_TRUE(job->attempt || job->avoids.contains(worker))
          << base::ToString(id) << " failed on " << worker << ", and may go there";
    if (!job->attempt) continue;
    for (const Rank& rank : job->attempt->ranks)
      ASSERT_FALSE(workers.contains(rank.row.worker))
          << Short(rank.row.key) << " goes to " << rank.row.worker << ", where it failed";
  }
}

}  // namespace trainctl::core
