#include <algorithm>

#include "common/base/size.h"
#include "server/core/gang.h"
#include "server/core/state.h"
#include "server/core/waiting.h"

namespace trainctl::core {
namespace {

std::string RankNames(const std::vector<const RankRow*>& ranks) {
  std::string text;
  for (const RankRow* rank : ranks)
    text += (text.empty() ? "" : ", ") + ("rank " + std::to_string(rank->key.rank)) + " on " +
            rank->worker;
  return text;
}

// Of the ranks in the given phase.
std::vector<const RankRow*> InPhase(const LiveAttempt& attempt, const std::string& phase) {
  std::vector<const RankRow*> ranks;
  for (const Rank& rank : attempt.ranks) {
    if (rank.row.phase.phase == phase) ranks.push_back(&rank.row);
  }
  return ranks;
}

std::string LoadingText(const std::vector<const RankRow*>& loading) {
  const auto slowest = *std::min_element(loading.begin(), loading.end(),
                                         [](const RankRow* left, const RankRow* right) {
                                           return left->phase.done_bytes < right->phase.done_bytes;
                                         });
  if (slowest->phase.total_bytes == 0) return "loading";
  return "loading " + base::FormatBytes(slowest->phase.done_bytes) + " of " +
         base::FormatBytes(slowest->phase.total_bytes);
}

// What the ranks least far in start-up do.
std::string StartReason(const LiveAttempt& attempt) {
  const std::vector<const RankRow*> placed = InPhase(attempt, "placed");
  if (placed.size() == attempt.ranks.size()) return "placed; its ranks are being started";
  if (!placed.empty()) return "starting: waits for " + RankNames(placed);
  if (!InPhase(attempt, "started").empty()) return "starting";
  const std::vector<const RankRow*> joining = InPhase(attempt, "joining");
  if (joining.size() == attempt.ranks.size()) return "joining";
  if (!joining.empty()) return "joining: waits for " + RankNames(joining);
  if (!InPhase(attempt, "trial").empty())
    return "trial of micro batch " + std::to_string(attempt.row.micro_batch_size);
  const std::vector<const RankRow*> loading = InPhase(attempt, "loading");
  return loading.empty() ? "first step" : LoadingText(loading);
}

std::string StopReason(const State& state, const LiveAttempt& attempt) {
  for (const Rank& rank : attempt.ranks) {
    const Worker& worker = state.workers.at(rank.row.worker);
    if (rank.row.proof != Proof::kNone) continue;
    if (!worker.connected)
      return "waits for proof that " + RankNames({&rank.row}) + " ended: its worker is away";
    return "waits for the end of " + RankNames({&rank.row});
  }
  for (const Rank& rank : attempt.ranks) {
    const Worker& worker = state.workers.at(rank.row.worker);
    if (worker.connected && worker.word == DeviceWord::kUnknown)
      return "waits until the device of " + rank.row.worker + " is free";
  }
  return "";
}

}  // namespace

std::string Reason(const State& state, const Job& job, const Now& now) {
  switch (job.status.state) {
    case job::JobState::kQueued: return WaitReason(state, job, now);
    case job::JobState::kStarting: return StartReason(*job.attempt);
    case job::JobState::kStopping: return StopReason(state, *job.attempt);
    case job::JobState::kRunning:
    case job::JobState::kFinished: return "";
  }
  return "";
}

}  // namespace trainctl::core
