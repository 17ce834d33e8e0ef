// The store is behind the scheduler's state by what is live: progress, phases, and what is being
// committed. These bring what was read up to date. The loop's thread.
#pragma once

#include <string>
#include <vector>

#include "server/coordinator/coordinator.h"
#include "server/coordinator/questions.h"
#include "server/core/state.h"
#include "server/store/reader.h"

namespace trainctl::coordinator {

struct JobSnapshot {
  store::StoredJob job;
  std::string reason;                    // why it is where it is, in plain words
  double remaining_seconds = 0;          // 0: not known
  base::WallMicros predicted_start = 0;  // of a job that waits as the first; 0: not known
  base::WallMicros at = 0;               // when it was so
};

JobSnapshot Snapshot(const Coordinator& coordinator, store::StoredJob stored);

// Of a list: jobs that ended since it was read hold no devices, which others may have by now.
void EndThoseThatEnded(const Coordinator& coordinator, std::vector<store::StoredJob>* read);

// Replaces the stored record of the live attempt, where there is one.
void BringUpToDate(const core::State& state, base::JobId job,
                   std::vector<store::StoredAttempt>* attempts);

}  // namespace trainctl::coordinator
