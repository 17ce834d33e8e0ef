// The state of a coordinator that starts: from nothing, or from what its store kept.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "server/core/actions.h"
#include "server/core/rows.h"
#include "server/core/state.h"

namespace trainctl::core {

struct EndedAttempt {
  AttemptRow row;
  std::vector<RankRow> ranks;  // by rank
};

struct UnfinishedJob {
  JobRow row;
  JobStatus status;
  std::optional<AttemptRow> attempt;  // the latest, where state is STARTING, RUNNING or STOPPING
  std::vector<RankRow> ranks;         // its, by rank
  std::vector<EndedAttempt> ended{};  // those before, by number
};

struct StoredState {
  std::string site;  // this coordinator's id, chosen when its database was made
  std::vector<JobGap> gaps;
  int64_t next_job = 1;
  int64_t next_group = 1;
  std::vector<UnfinishedJob> jobs;
  std::vector<WorkerRow> workers;
  std::vector<DrainRow> drains;
  std::vector<FaultRow> faults;
  std::vector<SlowRow> slow;
  int64_t next_lease = 1;
  std::vector<LeaseRow> leases;          // that are not over
  std::vector<GroupRow> groups;          // of the jobs, as far as they have a bound
  std::map<job::RankKey, int64_t> acks;  // last stored sequence of the ranks in `jobs`
  std::vector<UseRow> use;               // of attempts that have ended; any where it counts nothing
};

// Running jobs stay RUNNING; every worker is away (from now on) until its Hello, so no device is
// placeable yet. Needs no actions.
State Restore(const Options& options, StoredState stored, const Now& now);

// What was used before that counts nothing for a coordinator that starts now.
base::WallMicros UseCountsFrom(int64_t half_life_us, base::WallMicros now);

// Of a backup, whose unfinished jobs may have run and ended since: the rows by which they have
// ended. What had begun is NODE_LOST, what waited CANCELLED; neither is started again. `at`: when
// the backup was written.
std::vector<Persist> EndUnfinished(const StoredState& state, base::WallMicros at);

}  // namespace trainctl::core
