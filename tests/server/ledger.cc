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

void Ledger::Write(const RemoveJob& row) {
  if (!jobs_.contains(row.job)) return;
  const std::vector<UseRow> use = UseOf(row.job);
  removed_use_.insert(removed_use_.end(), use.begin(), use.end());
  const auto is_its = [&](const auto& entry) { return entry.first.job == row.job; };
  std::erase_if(attempts_, [&](const auto& entry) { return entry.first.first == row.job; });
  std::erase_if(ranks_, is_its);
  std::erase_if(acks_, is_its);
  std::erase_if(points_, is_its);
  jobs_.erase(row.job);
}

// Of its attempts that have ended.
std::vector<UseRow> Ledger::UseOf(base::JobId job) const {
  std::vector<UseRow> use;
  const StoredJob& stored = jobs_.at(job);
  for (auto next = attempts_.lower_bound({job, 0}); next != attempts_.end(); ++next) {
    const AttemptRow& attempt = next->second;
    if (attempt.job != job) break;
    if (attempt.ended_at == 0) continue;
    int64_t held = 0;
    for (auto rank = ranks_.lower_bound({job, attempt.attempt, 0});
         rank != ranks_.end() && rank->first.job == job && rank->first.attempt == attempt.attempt;
         ++rank)
      held += rank->second.held_devices;
    use.push_back({stored.row.user, held, attempt.placed_at, attempt.ended_at});
  }
  return use;
}

std::vector<UseRow> Ledger::Use() const {
  std::vector<UseRow> all = removed_use_;
  for (const auto& [id, lease] : leases_) {
    if (lease.over_at != 0 && lease.end > lease.start)
      all.push_back({lease.user, std::ssize(lease.workers), lease.start, lease.end});
  }
  for (const auto& [id, job] : jobs_) {
    const std::vector<UseRow> use = UseOf(id);
    all.insert(all.end(), use.begin(), use.end());
  }
  return all;
}

std::vector<EndedAttempt> Ledger::EndedAttempts(base::JobId job, int64_t last) const {
  std::vector<EndedAttempt> ended;
  for (int64_t attempt = 1; attempt <= last; ++attempt) {
    const auto row = attempts_.find({job, attempt});
    if (row == attempts_.end()) continue;  // the disk lost it
    ended.push_back({row->second, {}});
    for (auto rank = ranks_.lower_bound({job, attempt, 0});
         rank != ranks_.end() && rank->first.job == job && rank->first.attempt == attempt; ++rank)
      ended.back().ranks.push_back(rank->second);
  }
  return ended;
}

StoredState Ledger::LoadState() const {
  StoredState state;
  state.next_job = last_job_.value + 1;
  state.next_group = last_group_.value + 1;
  for (const auto& [name, worker] : workers_) state.workers.push_back(worker);
  for (const auto& [target, drain] : drains_) state.drains.push_back(drain);
  for (const auto& [key, fault] : faults_) state.faults.push_back(fault);
  for (const auto& [worker, slow] : slow_) state.slow.push_back(slow);
  state.next_lease = last_lease_ + 1;
  for (const auto& [id, lease] : leases_) {
    if (lease.over_at == 0) state.leases.push_back(lease);
  }
  std::set<base::GroupId> bounded;
  state.use = Use();
  for (const auto& [id, job] : jobs_) {
    if (job.status.state == job::JobState::kFinished) continue;
    const auto group = groups_.find(job.row.group);
    const bool is_bounded = group != groups_.end() && group->second.max_parallel > 0;
    if (is_bounded && bounded.insert(group->first).second) state.groups.push_back(group->second);
    UnfinishedJob& unfinished =
        state.jobs.emplace_back(UnfinishedJob{job.row, job.status, std::nullopt, {}});
    const bool is_queued = job.status.state == job::JobState::kQueued;
    unfinished.ended = EndedAttempts(id, job.status.attempt - (is_queued ? 0 : 1));
    if (is_queued) continue;
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
