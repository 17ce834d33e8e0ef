#include "server/core/slowness.h"

#include <algorithm>
#include <cstdio>

#include "server/core/leases.h"

namespace trainctl::core {
namespace {

constexpr int64_t kMostSaid = 10;  // of a rank: one may be slow and well in turns for days

std::string RatioText(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", ratio);
  return text;
}

}  // namespace

const SlowRow* SlownessOf(const State& state, const std::string& worker) {
  const auto found = state.slow.find(worker);
  return found == state.slow.end() ? nullptr : &found->second;
}

std::string SlownessText(const SlowRow& slow) {
  return "slower than its gang: as rank " + std::to_string(slow.key.rank) + " of " +
         base::ToString(slow.key.job) + " it needed " + RatioText(slow.ratio) +
         " times the others' time for its work, at " + UtcText(slow.at);
}

void ForgetSlowness(Turn& turn, const std::string& worker) {
  if (turn.state.slow.erase(worker) > 0) turn.Persist(RemoveSlow{worker});
}

void ClearSlowness(Turn& turn, const Worker& worker) {
  if (SlownessOf(turn.state, worker.row.name) == nullptr) return;
  ForgetSlowness(turn, worker.row.name);
  const LiveRank live = worker.holder ? FindLiveRank(turn.state, *worker.holder) : LiveRank{};
  if (live.job != nullptr) live.job->attempt->gang_pace.Forget(live.rank->row.key.rank);
}

void TakeVerdict(Turn& turn, const Job& job, const GangPace::Verdict& verdict) {
  const auto rank = std::ranges::find(job.attempt->ranks, verdict.rank,
                                      [](const Rank& each) { return each.row.key.rank; });
  if (rank == job.attempt->ranks.end()) return;
  const std::string& worker = rank->row.worker;
  const SlowRow* known = SlownessOf(turn.state, worker);
  const std::string who = "rank " + std::to_string(verdict.rank) + " on " + worker;
  const bool is_quiet = verdict.number > kMostSaid;
  if (!verdict.slow) {
    if (known == nullptr) return;
    ForgetSlowness(turn, worker);
    if (!is_quiet) Say(turn, job.row.id, who + " keeps up with its gang again");
    return;
  }
  const bool is_said = is_quiet || (known != nullptr && known->key == rank->row.key);
  const SlowRow row{worker, rank->row.device_uuid, rank->row.key, verdict.ratio, turn.now.wall};
  turn.state.slow[worker] = row;
  turn.Persist(row);
  if (is_said) return;
  Say(turn, job.row.id,
      who + " is slower than its gang: its own work takes " + RatioText(verdict.ratio) +
          " times the others', in " + std::to_string(turn.state.options.slowness.steps) +
          " steps in a row");
  turn.changed.insert(job.row.id);
}

}  // namespace trainctl::core
