#include "server/core/turn.h"

#include "common/base/check.h"

namespace trainctl::core {
namespace {

void SetFree(Turn& turn, const Worker& worker, bool host_is_owned) {
  const bool placeable = worker.connected && worker.word == DeviceWord::kFree && !worker.holder &&
                         worker.strays.empty() && !host_is_owned;
  turn.state.free.SetFree(worker.device, placeable);
  if (placeable) turn.placement_may_change = true;
}

}  // namespace

void SaveJob(Turn& turn, Job& job) {
  job.status.progress = Progress(job);
  turn.Persist(UpdateJob{job.row.id, job.status});
  turn.changed.insert(job.row.id);
}

void SaveAttempt(Turn& turn, const LiveAttempt& attempt) { turn.Persist(attempt.row); }

void SaveRank(Turn& turn, const Rank& rank) {
  turn.Persist(rank.row);
  turn.changed.insert(rank.row.key.job);
}

void Say(Turn& turn, base::JobId job, std::string text) {
  turn.Persist(EventRow{job, turn.now.wall, std::move(text)});
}

Worker& WorkerOf(State& state, const Rank& rank) {
  const auto worker = state.workers.find(rank.row.worker);
  CHECK(worker != state.workers.end()) << ToString(rank.row.key) << " is on '" << rank.row.worker
                                       << "', which is not in the inventory";
  return worker->second;
}

LiveRank FindLiveRank(State& state, const job::RankKey& key) {
  const auto live = state.live.find(key.job);
  if (live == state.live.end()) return {};
  LiveAttempt& attempt = *live->second->attempt;
  const bool is_there = attempt.row.attempt == key.attempt && key.rank >= 0 &&
                        key.rank < static_cast<int64_t>(attempt.ranks.size());
  if (!is_there) return {};
  return {live->second, &attempt.ranks[key.rank]};
}

void UpdateFree(Turn& turn, const Worker& worker) {
  SetFree(turn, worker, OwnerOfHost(turn.state, worker.row.host) != nullptr);
}

void UpdateFreeOfHosts(Turn& turn, const LiveAttempt& attempt) {
  std::set<std::string> hosts;
  for (const Rank& rank : attempt.ranks) hosts.insert(WorkerOf(turn.state, rank).row.host);
  for (const std::string& host : hosts) {
    const bool is_owned = OwnerOfHost(turn.state, host) != nullptr;
    for (const Worker* worker : turn.state.hosts.at(host)) SetFree(turn, *worker, is_owned);
  }
}

}  // namespace trainctl::core
