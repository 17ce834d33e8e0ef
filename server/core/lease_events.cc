#include "server/core/lease_events.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "server/core/fair_share.h"
#include "server/core/gang.h"
#include "server/core/handlers.h"
#include "server/core/inspect.h"

namespace trainctl::core {
namespace {

constexpr int64_t kOverLease = -1;            // the id of none
constexpr int64_t kLeastGraceUs = 5'000'000;  // of a coordinator that was away at the lease's end

void GiveDevices(Turn& turn, const Lease& lease, int64_t to) {
  for (const std::string& name : lease.row.workers) {
    const auto found = turn.state.workers.find(name);
    if (found == turn.state.workers.end()) continue;
    turn.state.free.SetLease(found->second.device, to);
    UpdateFree(turn, found->second);
  }
  turn.placement_may_change = true;
}

void EnterCalendar(State& state, const LeaseRow& row) {
  for (const std::string& worker : row.workers) state.leased[worker][row.start] = row.id;
}

void LeaveCalendar(State& state, const LeaseRow& row) {
  for (const std::string& worker : row.workers) {
    const auto leases = state.leased.find(worker);
    if (leases == state.leased.end()) continue;
    std::erase_if(leases->second, [&](const auto& entry) { return entry.second == row.id; });
    if (leases->second.empty()) state.leased.erase(leases);
  }
}

bool IsInCalendar(const State& state, const Lease& lease) {
  const auto leases = state.leased.find(lease.row.workers.front());
  return leases != state.leased.end() && leases->second.contains(lease.row.start) &&
         leases->second.at(lease.row.start) == lease.row.id;
}

// So that what is killed is gone by then.
int64_t KillAfter(const State& state) {
  return std::max(kLeastGraceUs, state.options.lease_grace_us * 5 / 6);
}

// Its jobs end, those that had not begun at once.
void Close(Turn& turn, Lease& lease) {
  lease.closing = true;
  const std::string text = LeaseEndText(lease.row);
  const std::set<base::JobId> jobs = lease.jobs;
  for (const base::JobId id : jobs) {
    Job& job = turn.state.jobs.at(id);
    if (job.attempt) {
      const int64_t rest = lease.row.end - turn.now.wall;
      StopGang(turn, job,
               {job::Outcome::kLeaseEnded, text, std::nullopt,
                std::clamp(rest, kLeastGraceUs, KillAfter(turn.state))});
      continue;
    }
    LeaveQueue(turn.state, job);
    Finish(turn, job, {job::Outcome::kLeaseEnded, text + "; it had not begun"});
  }
  turn.placement_may_change = true;
}

// Nothing of it is left: its name may be given again.
void BeOver(Turn& turn, int64_t id) {
  Lease& lease = turn.state.leases.at(id);
  lease.row.over_at = turn.now.wall;
  turn.Persist(lease.row);
  KeepUse(turn.state, lease.row);
  turn.state.leases.erase(id);
}

void Return(Turn& turn, Lease& lease) {
  lease.active = false;
  LeaveCalendar(turn.state, lease.row);
  GiveDevices(turn, lease, 0);
}

void EndIfDue(Turn& turn, int64_t id) {
  Lease& lease = turn.state.leases.at(id);
  if (turn.now.wall >= StopAt(turn.state, lease.row.end)) Close(turn, lease);
  if (turn.now.wall < lease.row.end) return;
  if (IsInCalendar(turn.state, lease)) Return(turn, lease);
  if (lease.jobs.empty()) BeOver(turn, id);
}

void Begin(Turn& turn, Lease& lease) {
  lease.active = true;
  GiveDevices(turn, lease, lease.row.id);
  for (const base::JobId id : lease.jobs) {
    Job& job = turn.state.jobs.at(id);
    if (job.lane != Lane::kLeased) continue;
    LeaveQueue(turn.state, job);
    Enqueue(turn, job);
    turn.changed.insert(id);
  }
}

void TellOnce(Turn& turn, Job& job, base::WallMicros of, const std::string& what) {
  if (job.attempt->row.stop || !job.told.insert(of).second) return;
  Say(turn, job.row.id, what + ": " + StopText(turn.state, job.row.spec, of));
  turn.changed.insert(job.row.id);
}

void TellOfItsEnd(Turn& turn, const Lease& lease) {
  for (const base::JobId id : lease.jobs) {
    Job& job = turn.state.jobs.at(id);
    if (job.attempt) TellOnce(turn, job, lease.row.end, LeaseEndText(lease.row));
  }
}

// Whether the job has its devices by that lease, or by one that ends before it begins. By a later
// one it has them where the clock was set back.
bool IsInOrderFor(const State& state, const Job& job, const LeaseRow& row) {
  if (job.lease == 0) return false;
  const Lease* own = FindLease(state, job.lease);
  return own == nullptr || own->row.id == row.id || own->row.end <= row.start;
}

// Whoever is on its devices when it begins, and not by a lease that ends before.
void ClearTheWay(Turn& turn, const Lease& lease) {
  for (const std::string& name : lease.row.workers) {
    const auto worker = turn.state.workers.find(name);
    if (worker == turn.state.workers.end()) continue;
    const std::optional<base::JobId> holder = HolderOf(turn.state, worker->second);
    if (!holder) continue;
    Job& job = *turn.state.live.at(*holder);
    if (IsInOrderFor(turn.state, job, lease.row)) continue;
    const std::string what = LeaseStartText(lease.row, name);
    TellOnce(turn, job, lease.row.start, what);
    if (turn.now.wall < StopAt(turn.state, lease.row.start)) continue;
    StopGang(turn, job, {job::Outcome::kPreempted, what, std::nullopt, KillAfter(turn.state)});
  }
}

// Whether another lease has a device of this one at a time of its own.
bool HasAnother(const State& state, const LeaseRow& row) {
  return std::ranges::any_of(row.workers, [&](const std::string& worker) {
    const auto leases = state.leased.find(worker);
    if (leases == state.leased.end()) return false;
    return std::ranges::any_of(leases->second, [&](const auto& entry) {
      return entry.second != row.id && entry.first < row.end &&
             state.leases.at(entry.second).row.end > row.start;
    });
  });
}

std::vector<int64_t> AllLeases(const State& state) {
  std::vector<int64_t> ids;
  for (const auto& [id, lease] : state.leases) ids.push_back(id);
  return ids;
}

}  // namespace

// The clock was put back: before its beginning it has nothing, before its end it has its devices.
void FollowTheClock(Turn& turn, Lease& lease) {
  if (lease.active && turn.now.wall < lease.row.start) {
    lease.active = false;
    GiveDevices(turn, lease, 0);
  }
  const bool has_returned = !IsInCalendar(turn.state, lease) && lease.row.start < lease.row.end;
  if (has_returned && turn.now.wall < lease.row.end) EnterCalendar(turn.state, lease.row);
}

void FollowTheClock(Turn& turn) {
  for (auto& [id, lease] : turn.state.leases) FollowTheClock(turn, lease);
}

void KeepLeases(Turn& turn) {
  FollowTheClock(turn);
  for (const int64_t id : AllLeases(turn.state)) EndIfDue(turn, id);  // then their devices are free
  for (auto& [id, lease] : turn.state.leases) {
    const int64_t warning = turn.state.options.lease_warning_us;
    const bool is_coming = IsInCalendar(turn.state, lease);
    if (is_coming && turn.now.wall >= lease.row.start - warning) ClearTheWay(turn, lease);
    if (is_coming && !lease.active && turn.now.wall >= lease.row.start) Begin(turn, lease);
    // Whoever waits may have other devices before it now: it is nearer, or the clock was set back.
    if (is_coming && !lease.active) turn.placement_may_change = true;
    if (turn.now.wall >= lease.row.end - warning) TellOfItsEnd(turn, lease);
  }
}

void Handle(Turn& turn, const LeaseMade& event) {
  FollowTheClock(turn);  // set back since the last Tick, it may have given devices back to leases
  LeaseRow row = event.row;
  if (HasAnother(turn.state, row)) return;
  if (row.workers.empty() || FindLease(turn.state, row.name) != nullptr) return;
  row.id = turn.state.next_lease++;
  turn.state.leases[row.id] = {.row = row};
  EnterCalendar(turn.state, row);
  turn.Persist(row);
  turn.placement_may_change = true;
  KeepLeases(turn);
}

void Handle(Turn& turn, const LeaseExtended& event) {
  const auto found = turn.state.leases.find(event.lease);
  if (found == turn.state.leases.end() || found->second.closing) return;
  FollowTheClock(turn);
  LeaseRow& row = found->second.row;
  LeaseRow longer = row;
  longer.end = std::max(row.end, event.end);
  if (HasAnother(turn.state, longer)) return;
  row.end = longer.end;
  turn.Persist(row);
  turn.placement_may_change = true;
  for (const base::JobId id : found->second.jobs) {
    Say(turn, id, LeaseText(row) + " was extended: it ends " + UtcText(row.end));
    turn.changed.insert(id);
  }
}

void Handle(Turn& turn, const LeaseDeleted& event) {
  const auto found = turn.state.leases.find(event.lease);
  if (found == turn.state.leases.end() || found->second.closing) return;
  FollowTheClock(turn);  // before it begins nothing of it is left
  Lease& lease = found->second;
  for (const base::JobId id : lease.jobs)
    Say(turn, id, LeaseText(lease.row) + " was deleted by " + event.user);
  const bool is_used = std::ranges::any_of(
      lease.jobs, [&](base::JobId id) { return turn.state.jobs.at(id).attempt.has_value(); });
  const int64_t rest = is_used ? turn.state.options.lease_grace_us : 0;
  LeaveCalendar(turn.state, lease.row);
  lease.row.end = std::min(lease.row.end, std::max(turn.now.wall, lease.row.start) + rest);
  if (lease.active) EnterCalendar(turn.state, lease.row);
  turn.Persist(lease.row);
  Close(turn, lease);
  if (!lease.active && lease.jobs.empty()) return BeOver(turn, event.lease);
  KeepLeases(turn);
}

void RestoreLeaseOf(State& state, const Worker& worker) {
  const Lease* lease = ActiveLeaseOf(state, worker.row.name);
  state.free.SetLease(worker.device, lease == nullptr ? 0 : lease->row.id);
}

void RestoreLease(State& state, const LeaseRow& row, const Now& now) {
  state.next_lease = std::max(state.next_lease, row.id + 1);
  Lease& lease = state.leases[row.id];
  lease.row = row;
  lease.closing = now.wall >= StopAt(state, row.end);
  if (now.wall >= row.end) return;
  EnterCalendar(state, row);
  lease.active = now.wall >= row.start;
}

void JoinLease(State& state, Job& job) {
  if (!job.row.spec.resources.lease) return;
  job.lease = kOverLease;  // it ended while nobody could read the job
  for (auto& [id, lease] : state.leases) {
    if (lease.row.name != *job.row.spec.resources.lease) continue;
    job.lease = id;
    lease.jobs.insert(job.row.id);
  }
}

void LeaveLease(State& state, const Job& job) {
  const auto lease = state.leases.find(job.lease);
  if (lease != state.leases.end()) lease->second.jobs.erase(job.row.id);
}

}  // namespace trainctl::core
