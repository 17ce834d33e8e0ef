#include "server/core/preempt.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "server/core/choice.h"
#include "server/core/gang.h"
#include "server/core/held.h"
#include "server/core/waiting.h"

namespace trainctl::core {
namespace {

using Jobs = std::vector<base::JobId>;

// Its workers are there to end it.
bool CanBeReached(const State& state, const Job& job) {
  return std::ranges::all_of(
      job.attempt->ranks, [&](const Rank& rank) { return state.devices[rank.device]->connected; });
}

// It has had the time to end: who has not ended by then may never do so.
bool IsOverdue(const State& state, const Job& job, const Now& now) {
  const std::optional<Stop>& stop = job.attempt->row.stop;
  return stop && now.wall - stop->at > stop->grace_us + state.options.device_word_timeout_us;
}

// Its devices are free in a moment, and not at its expense.
std::set<base::JobId> BeingStopped(const State& state, const Now& now) {
  std::set<base::JobId> jobs;
  for (const auto& [id, job] : state.live) {
    const bool ends = job->status.state == job::JobState::kStopping && CanBeReached(state, *job);
    if (ends && !IsOverdue(state, *job, now)) jobs.insert(id);
  }
  return jobs;
}

// A worker that is away and not LOST: with it comes what is free there, or soon.
bool SomebodyMayComeBack(const State& state) {
  return std::ranges::any_of(state.workers, [](const auto& entry) {
    return !entry.second.connected && !entry.second.lost;
  });
}

bool HasHadItsTime(const State& state, const Job& job, const Now& now) {
  const std::optional<int64_t>& least = state.options.policy.preempt_after_us;
  return least && now.steady - job.attempt->placed_steady >= *least;
}

bool MayGiveWay(const State& state, const Job& job, const Now& now) {
  const bool goes_on = !job.attempt->row.stop && job.status.state != job::JobState::kStopping;
  return goes_on && HasHadItsTime(state, job, now) && CanBeReached(state, job);
}

// Those that may give way to the job: of the least priority first, then those that lose least.
Jobs WhoMayGiveWay(const State& state, const Job& job, const Now& now) {
  Jobs jobs;
  for (const base::JobId id : state.preemptible) {
    const Job& other = *state.live.at(id);
    const bool is_lower = job::PriorityOf(other.row.spec) < job::PriorityOf(job.row.spec);
    if (is_lower && MayGiveWay(state, other, now)) jobs.push_back(id);
  }
  std::ranges::sort(jobs, {}, [&](base::JobId id) {
    const Job& other = *state.live.at(id);
    return std::tuple(job::PriorityOf(other.row.spec), -other.attempt->placed_steady, id);
  });
  return jobs;
}

class Search {
 public:
  Search(const Turn& turn, const Holds& holds, const Job& job, int64_t most_held)
      : turn_(turn),
        holds_(holds),
        job_(job),
        most_held_(most_held),
        stopping_(BeingStopped(turn.state, turn.now)) {}

  // As few as will do, the first of `jobs` as far as possible; empty: nobody need, or none would
  // do.
  Jobs Find(const Jobs& jobs) const {
    if (!Fits(jobs, jobs.size()) || Fits(jobs, 0)) return {};
    size_t few = 0, enough = jobs.size();
    while (enough - few > 1) {
      const size_t middle = few + (enough - few) / 2;
      (Fits(jobs, middle) ? enough : few) = middle;
    }
    Jobs needed(jobs.begin(), jobs.begin() + static_cast<std::ptrdiff_t>(enough));
    for (size_t i = 0; i + 1 < needed.size();) {  // the last is needed
      Jobs fewer = needed;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (Fits(fewer, fewer.size())) {
        needed = std::move(fewer);
      } else {
        ++i;
      }
    }
    return needed;
  }

 private:
  // With the first `count` of them gone.
  bool Fits(const Jobs& jobs, size_t count) const {
    std::set<base::JobId> gone = stopping_;
    gone.insert(jobs.begin(), jobs.begin() + static_cast<std::ptrdiff_t>(count));
    const int64_t grace = turn_.state.options.preemption_grace_us;  // they need it
    const Now then = {turn_.now.wall + grace, turn_.now.steady + grace};
    const auto devices = ChooseDevices(turn_.state, holds_, job_, then, gone);
    return !devices.empty() && HeldWith(turn_.state, job_, devices) <= most_held_;
  }

  const Turn& turn_;
  const Holds& holds_;
  const Job& job_;
  const int64_t most_held_;
  const std::set<base::JobId> stopping_;
};

std::string WhoTakes(const Job& job) {
  return base::ToString(job.row.id) + (job.row.user.empty() ? "" : " of " + job.row.user) +
         " (priority " + std::to_string(job::PriorityOf(job.row.spec)) + ")";
}

}  // namespace

std::optional<int64_t> LeastThatMayGiveWay(const State& state, const Now& now) {
  std::optional<int64_t> least;
  if (state.preemptible.empty() || SomebodyMayComeBack(state)) return least;
  for (const base::JobId id : state.preemptible) {
    const Job& job = *state.live.at(id);
    const int64_t priority = job::PriorityOf(job.row.spec);
    if ((!least || priority < *least) && MayGiveWay(state, job, now)) least = priority;
  }
  return least;
}

bool PreemptFor(Turn& turn, const Holds& holds, const Job& job, int64_t most_held) {
  if (job.demand.inspect_first) return true;
  const bool is_yielded = std::ranges::any_of(
      UsableClasses(turn.state, job), [&](placement::ClassId id) { return holds.Yields(id, job); });
  if (!is_yielded) return true;
  const Jobs may = WhoMayGiveWay(turn.state, job, turn.now);
  if (may.empty()) return true;
  const Jobs needed = Search(turn, holds, job, most_held).Find(may);
  if (!needed.empty() && !turn.may_preempt) {
    turn.is_put_off = true;
    return false;
  }
  std::string names;
  for (const base::JobId id : needed) {
    Job& other = *turn.state.live.at(id);
    names += (names.empty() ? "" : ", ") + base::ToString(id);
    StopGang(turn, other,
             {job::Outcome::kPreempted, "gives way to " + WhoTakes(job), std::nullopt,
              turn.state.options.preemption_grace_us});
  }
  if (names.empty()) return true;
  Say(turn, job.row.id, "takes the devices of " + names);
  turn.state.look_again = true;
  return true;
}

bool SomebodyMayGiveWay(State& state, const Now& now) {
  bool is_new = false;
  for (const base::JobId id : state.preemptible) {
    Job& job = *state.live.at(id);
    if (job.attempt->may_give_way || !HasHadItsTime(state, job, now)) continue;
    job.attempt->may_give_way = true;
    is_new = true;
  }
  if (state.preemptible.empty()) return is_new;
  for (const auto& [id, job] : state.live) {
    if (!job->attempt || job->attempt->is_overdue || !IsOverdue(state, *job, now)) continue;
    job->attempt->is_overdue = true;
    is_new = true;
  }
  return is_new;
}

}  // namespace trainctl::core
