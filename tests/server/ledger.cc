#include "tests/server/ledger.h"

#include <set>

namespace trainctl::core {

void Ledger::Apply(const std::vector<Persist>& rows) {
  for (const Persist& row : rows) {
    std::visit([this](const auto& value) { Write(value); }, row);
  }
}

void Ledger::Write(const MetricRows& rows) {
  std::vector<job::MetricPoint>& points = points_[rows.key];
  points.insert(points.end(), rows.points.begin(), rows.points.end());
}

StoredState Ledger::LoadState() const {
  StoredState state;
  state.next_job = jobs_.empty() ? 1 : jobs_.rbegin()->first.value + 1;
  state.next_group = last_group_.value + 1;
  for (const auto& [name, worker] : workers_) state.workers.push_back(worker);
  for (const auto& [target, drain] : drains_) state.drains.push_back(drain);
  state.next_lease = last_lease_ + 1;
  for (const auto& [id, lease] : leases_) {
    if (lease.over_at == 0) state.leases.push_back(lease);
  }
  std::set<base::GroupId> bounded;
  for (const auto& [id, job] : jobs_) {
    if (job.status.state == job::JobState::kFinished) continue;
    const auto group = groups_.find(job.row.group);
    const bool is_bounded = group != groups_.end() && group->second.max_parallel > 0;
    if (is_bounded && bounded.insert(group->first).second) state.groups.push_back(group->second);
    UnfinishedJob& unfinished =
        state.jobs.emplace_back(UnfinishedJob{job.row, job.status, std::nullopt, {}});
    if (job.status.state == job::JobState::kQueued) continue;
    unfinished.attempt = attempts_.at({id, job.status.attempt});
    for (int64_t rank = 0; rank < job.row.spec.devices; ++rank) {
      const job::RankKey key{id, job.status.attempt, rank};
      unfinished.ranks.push_back(ranks_.at(key));
      if (acks_.contains(key)) state.acks[key] = acks_.at(key);
    }
  }
  return state;
}

}  // namespace trainctl::core
