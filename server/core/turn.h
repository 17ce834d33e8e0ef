// One Step in the making: what its parts read, change and ask for. Internal to this room.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "server/core/actions.h"
#include "server/core/state.h"

namespace trainctl::core {

// A job that became FINISHED.
struct EndedJob {
  base::JobId job;
  base::GroupId group;
  bool ok = false;  // it SUCCEEDED, or ended as its file expects
  job::Outcome outcome = job::Outcome::kFailed;
};

struct Turn {
  State& state;
  const Now& now;
  Actions actions;
  std::set<base::JobId> changed;      // becomes JobChanged effects
  std::vector<EndedJob> ended;        // those that others may follow are told
  bool placement_may_change = false;  // a device became free, a job was queued or left the queue
  bool took_quota = false;            // of its owner's a job that was placed
  bool may_preempt = false;           // this pass
  bool is_put_off = false;            // that jobs give way: until a pass that may preempt

  void Persist(core::Persist row) { actions.persist.push_back(std::move(row)); }
  void Perform(Effect effect) { actions.effects.push_back(std::move(effect)); }
};

// Rows of the state as it is now, to be persisted.
void SaveJob(Turn& turn, Job& job);
void SaveAttempt(Turn& turn, const LiveAttempt& attempt);
void SaveRank(Turn& turn, const Rank& rank);
// A line in the job's history, of now or of what happened before.
void Say(Turn& turn, base::JobId job, std::string text);
void Say(Turn& turn, base::JobId job, std::string text, base::WallMicros at);

// Of a live attempt's.
Worker& WorkerOf(State& state, const Rank& rank);
// The live job and rank that the key names; job null where it is not of a live attempt.
struct LiveRank {
  Job* job = nullptr;
  Rank* rank = nullptr;
};
LiveRank FindLiveRank(State& state, const job::RankKey& key);

// Brings State::free in line with what is known of the worker; to be called after each change of
// it, and of when the job that holds it is expected to end.
void UpdateFree(Turn& turn, const Worker& worker);
// The same of all workers of the attempt's hosts, after it took or left its devices.
void UpdateFreeOfHosts(Turn& turn, const LiveAttempt& attempt);

}  // namespace trainctl::core
