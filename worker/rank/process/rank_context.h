// What every phase of a rank's run works with, once its gang has been joined. All of it outlives
// the run.
#pragma once

#include "common/base/clock.h"
#include "common/rank/rank_plan.h"
#include "worker/rank/comm/communicator.h"
#include "worker/rank/process/reporter.h"

namespace trainctl::train {

inline bool WritesCheckpoints(const job::JobSpec& job) {
  return job.checkpoint.every_steps && job.output.dir;
}

// Every rank one.
inline bool WritesTrace(const job::JobSpec& job) { return job.profile && job.output.dir; }

inline bool WritesCurves(const job::JobSpec& job) { return !job.track.empty() && job.output.dir; }

struct RankContext {
  const job::RankPlan& plan;
  Reporter& reporter;
  const base::Clock& clock;
  at::Device device;
  comm::Communicator& comm;

  bool leads() const { return plan.rank == 0; }
  bool writes_checkpoints() const { return WritesCheckpoints(plan.job); }
};

}  // namespace trainctl::train
