#include "server/core/fair_share.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "server/core/held.h"
#include "server/core/quota.h"
#include "server/core/restore.h"
#include "server/core/waiting.h"

namespace trainctl::core {
namespace {

constexpr base::WallMicros kSharePeriod = 60'000'000;

base::WallMicros LastSumAt(base::WallMicros now) { return now - now % kSharePeriod; }

UseRow UseOf(const LeaseRow& lease) {
  return {lease.user, std::ssize(lease.workers), lease.start, lease.end};
}

// The sums are of whole numbers, so that the order of what is summed is nothing.
std::map<std::string, int64_t> SumUse(const State& state, base::WallMicros at, int64_t half_life) {
  std::map<std::string, int64_t> millis;
  for (const auto& [user, rows] : state.shares.ended) {
    int64_t& sum = millis[user];
    for (const UseRow& row : rows) sum += DecayedUse(row, at, half_life);
  }
  std::unordered_map<std::string_view, int64_t> live;
  for (const auto& [id, job] : state.live) {
    const AttemptRow& attempt = job->attempt->row;
    live[job->row.user] +=
        DecayedUse({"", HeldByAll(job->attempt->ranks), attempt.placed_at, at}, at, half_life);
  }
  for (const auto& [id, lease] : state.leases)
    live[lease.row.user] += DecayedUse(UseOf(lease.row), at, half_life);
  for (const auto& [user, sum] : live) millis[std::string(user)] += sum;
  std::erase_if(millis, [](const auto& entry) { return entry.second == 0; });
  return millis;
}

int64_t ShareOfUser(const State& state, const std::string& user) {
  const auto use = state.shares.use.find(user);
  return use == state.shares.use.end() ? 0 : use->second / 1000;
}

// In each set that is ordered by place.
void Move(State& state, Job& job, const int64_t* share) {
  const auto move_in = [&](std::set<Place>& places) {
    places.erase(job.place());
    job.share = share;
    places.insert(job.place());
  };
  switch (job.lane) {
    case Lane::kNone:
    case Lane::kLeased: job.share = share; return;
    case Lane::kFollowing: return move_in(state.following);
    case Lane::kBounded: return move_in(state.bounded_groups.at(job.row.group).waiting);
    case Lane::kUninspected: return move_in(state.uninspected);
    case Lane::kQueue:
      state.queue.Remove(job.demand, job.place(), job.longest_run);
      job.share = share;
      return state.queue.Add(job.demand, job.place(), job.longest_run, &job);
  }
}

// Whether nothing but devices, or a look at its model, is in the job's way. Jobs under a lease have
// devices of their own.
bool WaitsInTurn(const State& state, const Job& job) {
  const bool has_place = job.lane == Lane::kQueue || job.lane == Lane::kUninspected;
  return has_place && !job.row.spec.resources.lease && !ExceedsQuota(state, job) &&
         !PossibleClasses(state, job).empty();
}

// The first job of the user that waits, of those that were submitted by then. The jobs behind the
// first that is newer are newer too: a clock that was set back makes them wait for it.
const Job* FirstOf(const State& state, const std::string& user, base::WallMicros then) {
  const auto of_user = state.jobs_of.find(user);
  if (of_user == state.jobs_of.end()) return nullptr;
  for (const auto& [priority, jobs] : of_user->second) {
    for (const base::JobId id : jobs) {
      const Job& job = state.jobs.at(id);
      if (job.row.submitted_at > then) break;
      if (job.status.state == job::JobState::kQueued && WaitsInTurn(state, job)) return &job;
    }
  }
  return nullptr;
}

base::WallMicros HalfLifeAgo(const State& state) {
  return state.shares.at - *state.options.policy.half_life_us;
}

bool HasHadLeaseSince(const State& state, const std::string& user, base::WallMicros then) {
  return std::ranges::any_of(state.leases, [&](const auto& entry) {
    const LeaseRow& lease = entry.second.row;
    return lease.user == user && lease.start < state.shares.at && lease.end > then;
  });
}

bool HasHadDevicesSince(const State& state, const std::string& user, base::WallMicros then) {
  if (state.live_jobs.contains(user) || HasHadLeaseSince(state, user, then)) return true;
  const auto ended = state.shares.ended.find(user);
  return ended != state.shares.ended.end() &&
         std::any_of(ended->second.rbegin(), ended->second.rend(),
                     [then](const UseRow& row) { return row.to > then; });
}

// Users who have had no device for a half-life, though a job of theirs was submitted before. Who is
// not among them is not until the next sum: who has had devices, has had them by then too.
std::set<std::string> WhoMayStarve(const State& state) {
  const base::WallMicros then = HalfLifeAgo(state);
  std::set<std::string> starving;
  for (const auto& [user, of_user] : state.jobs_of) {
    if (HasHadDevicesSince(state, user, then)) continue;
    const bool is_old = std::ranges::any_of(of_user, [&](const auto& jobs) {
      return state.jobs.at(*jobs.second.begin()).row.submitted_at <= then;
    });
    if (is_old) starving.insert(user);
  }
  return starving;
}

std::set<base::JobId> WhoIsLifted(State& state) {
  if (std::exchange(state.shares.starving_is_old, false))
    state.shares.starving = WhoMayStarve(state);
  const base::WallMicros then = HalfLifeAgo(state);
  std::set<base::JobId> lifted;
  for (const std::string& user : state.shares.starving) {
    if (HasHadDevicesSince(state, user, then)) continue;
    if (const Job* first = FirstOf(state, user, then)) lifted.insert(first->row.id);
  }
  return lifted;
}

// Those, and nobody else. True: some place is another.
bool Lift(State& state, std::set<base::JobId> lifted) {
  bool has_moved = false;
  const auto give = [&](base::JobId id, bool is_lifted) {
    const auto found = state.jobs.find(id);
    if (found == state.jobs.end() || found->second.status.state != job::JobState::kQueued) return;
    const int64_t* share = is_lifted ? &kLifted : ShareOf(state, found->second);
    if (found->second.share == share) return;
    Move(state, found->second, share);
    has_moved = true;
  };
  for (const base::JobId id : state.shares.lifted) {
    if (!lifted.contains(id)) give(id, false);
  }
  for (const base::JobId id : lifted) give(id, true);
  state.shares.lifted = std::move(lifted);
  return has_moved;
}

void Reorder(const State& state, std::set<Place>* places) {
  std::set<Place> renewed;
  for (const Place& place : *places) renewed.insert(state.jobs.at(place.job).place());
  *places = std::move(renewed);
}

// By the use that was summed up now. True: some place is another.
bool MoveAll(State& state) {
  const bool has_lifted = Lift(state, WhoIsLifted(state));
  bool has_moved = false;
  for (auto& [user, share] : state.shares.shares) {
    const int64_t old = std::exchange(share, ShareOfUser(state, user));
    has_moved |= share != old;
  }
  if (!has_moved) return has_lifted;
  Reorder(state, &state.following);
  Reorder(state, &state.uninspected);
  for (auto& [id, group] : state.bounded_groups) Reorder(state, &group.waiting);
  state.queue.Reshare([&](const std::string& user) { return state.shares.shares.at(user); },
                      [&](base::JobId job) { return state.jobs.at(job).place().share; });
  return true;
}

// An attempt that ended before the last sum was counted in it until then; not so perhaps where the
// clock was set meanwhile.
void Correct(State& state, const UseRow& row) {
  const base::WallMicros at = state.shares.at;
  const int64_t half_life = *state.options.policy.half_life_us;
  int64_t& use = state.shares.use[row.user];
  use -= DecayedUse({row.user, row.devices, row.from, at}, at, half_life);
  use = std::max<int64_t>(0, use + DecayedUse(row, at, half_life));
  if (use == 0) state.shares.use.erase(row.user);
  MoveAll(state);
}

}  // namespace

int64_t DecayedUse(const UseRow& row, base::WallMicros at, int64_t half_life_us) {
  const base::WallMicros from = std::max(row.from, at - kHalfLives * half_life_us);
  const base::WallMicros to = std::min(row.to, at);
  if (to <= from) return 0;
  const auto life = static_cast<double>(half_life_us);
  const auto weight = [&](base::WallMicros when) {
    return std::exp2(-static_cast<double>(at - when) / life);
  };
  // The integral of 2^(-age / life) over the time that the devices were held.
  const double micros = life / std::log(2.0) * (weight(to) - weight(from));
  return row.devices * std::llround(micros / 1e3);
}

base::WallMicros UseCountsFrom(int64_t half_life_us, base::WallMicros now) {
  return LastSumAt(now) - kHalfLives * half_life_us;
}

const int64_t* ShareOf(State& state, const Job& job) {
  if (!state.options.policy.half_life_us) return nullptr;
  const auto [share, is_new] = state.shares.shares.try_emplace(job.row.user);
  if (is_new) share->second = ShareOfUser(state, job.row.user);
  return &share->second;
}

void KeepUse(State& state, const Job& job, const Now& now) {
  if (!state.options.policy.half_life_us) return;
  const AttemptRow& attempt = job.attempt->row;
  std::vector<UseRow>& ended = state.shares.ended[job.row.user];
  ended.push_back(
      {job.row.user, HeldByAll(job.attempt->ranks), attempt.placed_at, attempt.ended_at});
  const bool is_set_back = now.wall < state.shares.at;  // the clock: the next Tick sums up
  if (attempt.ended_at < state.shares.at && !is_set_back) Correct(state, ended.back());
  // Known late: whoever was taken to have had devices since has had none, once it is not live.
  if (attempt.ended_at <= HalfLifeAgo(state)) state.shares.starving_is_old = true;
}

void KeepUse(State& state, const LeaseRow& lease) {
  const bool was_held = lease.end > lease.start;  // not so, where it was deleted before
  if (state.options.policy.half_life_us && was_held)
    state.shares.ended[lease.user].push_back(UseOf(lease));
}

bool LiftWhoStarves(State& state) {
  const bool may_be = !state.shares.starving.empty() || state.shares.starving_is_old;
  if (!state.options.policy.half_life_us || !may_be) return false;
  return Lift(state, WhoIsLifted(state));
}

bool RenewShares(State& state, const Now& now) {
  const std::optional<int64_t>& half_life = state.options.policy.half_life_us;
  const base::WallMicros at = LastSumAt(now.wall);
  if (!half_life || at == state.shares.at) return false;
  state.shares.at = at;
  for (auto& [user, rows] : state.shares.ended)
    std::erase_if(rows, [&](const UseRow& row) { return row.to <= at - kHalfLives * *half_life; });
  std::erase_if(state.shares.ended, [](const auto& entry) { return entry.second.empty(); });
  state.shares.use = SumUse(state, at, *half_life);
  state.shares.starving = WhoMayStarve(state);
  state.shares.starving_is_old = false;
  return MoveAll(state);
}

}  // namespace trainctl::core
