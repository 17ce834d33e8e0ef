#include "server/core/workers.h"

#include <algorithm>
#include <utility>

#include "server/core/faults.h"
#include "server/core/gang.h"
#include "server/core/handlers.h"
#include "server/core/lease_events.h"
#include "server/core/reach.h"
#include "server/core/slowness.h"

namespace trainctl::core {
namespace {

Job* HolderJob(State& state, const Worker& worker) {
  return worker.holder ? FindLiveRank(state, *worker.holder).job : nullptr;
}

void LeaveHost(State& state, const Worker& worker) {
  const auto host = state.hosts.find(worker.row.host);
  std::erase(host->second, &worker);
  if (host->second.empty()) state.hosts.erase(host);
}

}  // namespace

Worker& DescribeWorker(State& state, const WorkerRow& row) {
  const auto [found, is_new] = state.workers.try_emplace(row.name);
  Worker& worker = found->second;
  if (!is_new) LeaveHost(state, worker);
  state.hosts[row.host].push_back(&worker);
  if (is_new) {
    worker.device = state.free.Register(SiteDeviceOf(row), row.device.index);
    state.devices.push_back(&worker);
  } else {
    state.free.Describe(worker.device, SiteDeviceOf(row), row.device.index);
    if (worker.row.boot_id != row.boot_id) worker.host_restarted = true;
  }
  worker.row = row;
  state.free.SetLinks(worker.device, row.device);
  state.free.SetDrained(worker.device, IsKeptOut(state, row));
  RestoreLeaseOf(state, worker);
  return worker;
}

// Who is described anew makes all find anew where they may go.
void SetRules(State& state, Worker& worker, const job::HostRules& rules) {
  if (worker.rules == rules) return;
  const auto old = state.rules.find(worker.rules);
  if (old != state.rules.end() && --old->second == 0) state.rules.erase(old);
  worker.rules = rules;
  if (rules.bounds_jobs()) ++state.rules[rules];
  RequeueByRules(state);
}

void Handle(Turn& turn, const WorkerStreamLost& event) {
  const auto found = turn.state.workers.find(event.worker);
  if (found == turn.state.workers.end() || !found->second.connected) return;
  Worker& worker = found->second;
  worker.connected = false;
  worker.away_since = event.last_heard == 0 ? turn.now.steady : event.last_heard;
  worker.row.last_seen = turn.now.wall - (turn.now.steady - worker.away_since);
  turn.Persist(worker.row);
  UpdateFree(turn, worker);
  turn.placement_may_change = true;  // who counted on its device starts later, and may be passed
  if (Job* job = HolderJob(turn.state, worker)) EndAttemptIfSettled(turn, *job);
}

void Handle(Turn& turn, const WorkerFenced& event) {
  const auto found = turn.state.workers.find(event.worker);
  if (found == turn.state.workers.end() || !found->second.lost || !found->second.holder) return;
  const LiveRank live = FindLiveRank(turn.state, *found->second.holder);
  if (live.rank->row.proof != Proof::kNone) return;
  Say(turn, live.job->row.id,
      "worker " + event.worker + " was fenced by an operator: its rank is taken as ended");
  EndRank(turn, *live.job, *live.rank, Proof::kFenced);
}

std::optional<base::JobId> LiveJobOn(const State& state, const Worker& worker) {
  for (const auto& [id, job] : state.live) {
    if (std::ranges::count(job->attempt->ranks, worker.row.name,
                           [](const Rank& rank) { return rank.row.worker; }) > 0)
      return id;
  }
  return std::nullopt;
}

bool MayBeRemoved(const State& state, const Worker& worker) {
  return !worker.connected && !LiveJobOn(state, worker);
}

void Handle(Turn& turn, const WorkerRemoved& event) {
  const auto found = turn.state.workers.find(event.worker);
  if (found == turn.state.workers.end() || !MayBeRemoved(turn.state, found->second)) return;
  turn.state.free.Remove(found->second.device);
  turn.state.devices[found->second.device] = nullptr;
  LeaveHost(turn.state, found->second);
  SetRules(turn.state, found->second, {});
  turn.state.workers.erase(found);
  turn.Persist(RemoveWorker{event.worker});
  ForgetFaults(turn, event.worker);
  ForgetSlowness(turn, event.worker);
  if (!IsTarget(turn.state, event.worker) && turn.state.drains.erase(event.worker) > 0)
    turn.Persist(RemoveDrain{event.worker});
  turn.placement_may_change = true;  // who could use its device only holds back nothing now
}

void Handle(Turn& turn, const DeviceStateChanged& event) {
  const auto found = turn.state.workers.find(event.worker);
  if (found == turn.state.workers.end()) return;
  Worker& worker = found->second;
  const DeviceWord word = event.free ? DeviceWord::kFree : DeviceWord::kNotFree;
  worker.reason = event.reason;
  if (std::exchange(worker.word, word) == word) return;  // said again, should it have been missed
  UpdateFree(turn, worker);
  turn.placement_may_change = true;  // of one that is DIRTY too: nobody keeps a quota for it
  Job* job = HolderJob(turn.state, worker);
  if (job == nullptr) return;
  const bool is_dirty =
      !event.free && FindLiveRank(turn.state, *worker.holder).rank->row.proof != Proof::kNone;
  if (is_dirty)
    Say(turn, job->row.id, "the device of " + worker.row.name + " is DIRTY: " + event.reason);
  EndAttemptIfSettled(turn, *job);
}

void Handle(Turn& turn, const HostTroubled& event) {
  const auto found = turn.state.workers.find(event.worker);
  if (found == turn.state.workers.end()) return;
  found->second.trouble = event.trouble;
  if (const Job* job = HolderJob(turn.state, found->second)) turn.changed.insert(job->row.id);
}

}  // namespace trainctl::core
