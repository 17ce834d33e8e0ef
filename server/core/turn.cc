#include "server/core/turn.h"

namespace trainctl::core {
namespace {

// When the device of a worker that can't be given out now is expected to be free.
std::optional<base::SteadyMicros> FreeAgainAt(const State& state, const Worker& worker,
                                              const Job* owner_of_host) {
  const bool is_drained = state.free.entry(worker.device).drained;
  if (!worker.connected || is_drained || !worker.strays.empty()) return std::nullopt;
  if (worker.holder) return state.live.at(worker.holder->job)->attempt->expected_end;
  if (worker.word != DeviceWord::kFree || owner_of_host == nullptr) return std::nullopt;
  return owner_of_host->attempt->expected_end;
}

void SetFree(Turn& turn, const Worker& worker, const Job* owner_of_host) {
  const bool placeable = worker.connected && worker.word == DeviceWord::kFree && !worker.holder &&
                         worker.strays.empty() && owner_of_host == nullptr &&
                         !turn.state.free.entry(worker.device).drained;
  turn.state.free.SetFree(worker.device, placeable);
  if (placeable) {
    turn.placement_may_change = true;
  } else {
    turn.state.free.SetComing(worker.device, FreeAgainAt(turn.state, worker, owner_of_host));
  }
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
  Say(turn, job, std::move(text), turn.now.wall);
}

void Say(Turn& turn, base::JobId job, std::string text, base::WallMicros at) {
  turn.Persist(EventRow{job, at, std::move(text)});
}

Worker& WorkerOf(State& state, const Rank& rank) { return *state.devices[rank.device]; }

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
  SetFree(turn, worker, OwnerOfHost(turn.state, worker.row.host));
}

void UpdateFreeOfHosts(Turn& turn, const LiveAttempt& attempt) {
  std::set<std::string> hosts;
  for (const Rank& rank : attempt.ranks) hosts.insert(WorkerOf(turn.state, rank).row.host);
  for (const std::string& host : hosts) {
    const Job* owner = OwnerOfHost(turn.state, host);
    for (const Worker* worker : turn.state.hosts.at(host)) SetFree(turn, *worker, owner);
  }
}

}  // namespace trainctl::core
