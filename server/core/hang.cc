#include "server/core/hang.h"

#include <algorithm>

#include "server/core/gang.h"

namespace trainctl::core {
namespace {

using Ranks = std::vector<const RankRow*>;

Ranks Unended(const LiveAttempt& attempt) {
  Ranks ranks;
  for (const Rank& rank : attempt.ranks) {
    if (rank.row.proof == Proof::kNone) ranks.push_back(&rank.row);
  }
  return ranks;
}

// How far a rank is: in start-up, then steps.
int64_t Advance(const RankRow& rank) {
  const auto joined = static_cast<int64_t>(job::RunPhase::kTraining);
  return job::HasJoined(rank.phase.phase) ? joined + rank.progress.step
                                          : static_cast<int64_t>(rank.phase.phase);
}

Ranks LeastAdvanced(const Ranks& ranks) {
  int64_t least = Advance(*ranks.front());
  for (const RankRow* rank : ranks) least = std::min(least, Advance(*rank));
  Ranks result;
  std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(result),
               [&](const RankRow* rank) { return Advance(*rank) == least; });
  return result;
}

Ranks NotWaiting(const Ranks& ranks) {
  Ranks result;
  std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(result),
               [](const RankRow* rank) { return rank->progress.stage != job::Stage::kCollective; });
  return result.empty() ? ranks : result;
}

std::string Where(const RankRow& rank) {
  if (rank.phase.phase != job::RunPhase::kTraining) return job::Describe(rank.phase);
  return "step " + std::to_string(rank.progress.step) + ", " +
         std::string(job::Name(rank.progress.stage));
}

}  // namespace

Hang FindHang(const LiveAttempt& attempt, int64_t timeout_seconds) {
  const Ranks hung = NotWaiting(LeastAdvanced(Unended(attempt)));
  Hang hang;
  std::string names;
  for (const RankRow* rank : hung) {
    hang.ranks.push_back(rank->key.rank);
    names += (names.empty() ? "" : "; ") + ("rank " + std::to_string(rank->key.rank)) + " on " +
             rank->worker + " (" + Where(*rank) + ")";
  }
  hang.message = "no progress for " + std::to_string(timeout_seconds) + " s; not joined: " + names;
  return hang;
}

}  // namespace trainctl::core
