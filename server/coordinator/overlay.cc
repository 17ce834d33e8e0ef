#include "server/coordinator/overlay.h"

#include <algorithm>
#include <utility>

namespace trainctl::coordinator {

JobSnapshot Snapshot(const Coordinator& coordinator, store::StoredJob stored) {
  const core::State& state = coordinator.state();
  const core::Now now = coordinator.Now();
  JobSnapshot snapshot{.job = std::move(stored), .at = now.wall};
  const core::Job* live = core::FindJob(state, snapshot.job.row.id);
  if (live == nullptr) {
    if (const auto& unreadable = snapshot.job.row.unreadable)
      snapshot.reason = "its stored job file can't be read by this coordinator: " + unreadable->why;
    return snapshot;
  }
  snapshot.job.status = live->status;
  snapshot.job.status.progress = core::Progress(*live);
  snapshot.reason = core::Reason(state, *live, now);
  if (!live->attempt) {
    if (const auto start = core::PredictedStart(state, *live, now))
      snapshot.predicted_start = now.wall + (*start - now.steady);
    return snapshot;
  }
  if (const auto left = core::TimeLeftOf(state, *live, now))
    snapshot.remaining_seconds = left->seconds;
  snapshot.job.placement.clear();
  for (const core::Rank& rank : live->attempt->ranks) {
    if (state.workers.at(rank.row.worker).holder == rank.row.key)
      snapshot.job.placement.push_back(rank.row.worker);
  }
  return snapshot;
}

void EndThoseThatEnded(const Coordinator& coordinator, std::vector<store::StoredJob>* read) {
  for (store::StoredJob& job : *read) {
    if (core::FindJob(coordinator.state(), job.row.id) != nullptr) continue;
    const core::JobStatus* ended = coordinator.ends().Find(job.row.id);
    if (ended != nullptr) job.status = *ended;
  }
}

void BringUpToDate(const core::State& state, base::JobId job,
                   std::vector<store::StoredAttempt>* attempts) {
  const core::Job* live = core::FindJob(state, job);
  if (live == nullptr || !live->attempt) return;
  store::StoredAttempt attempt{live->attempt->row, {}};
  for (const core::Rank& rank : live->attempt->ranks) attempt.ranks.push_back(rank.row);
  std::erase_if(*attempts, [&](const store::StoredAttempt& stored) {
    return stored.row.attempt == attempt.row.attempt;
  });
  attempts->push_back(std::move(attempt));
}

}  // namespace trainctl::coordinator
