// What earlier runs of the same shape took, and what devices drew, for predictions of run time and
// energy. For the read thread.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/estimate/run_time.h"
#include "server/store/reader.h"

namespace trainctl::coordinator {

// What a job's time depends on.
struct RunKeys {
  std::string shape, start, model;  // job::ShapeKey, StartKey, ModelKey
};

RunKeys KeysOf(const job::JobSpec& job, const job::Inspection& inspection);

struct RunsFound {
  std::vector<job::EarlierTimes> jobs;   // in the order asked
  std::vector<job::DevicePower> powers;  // of what ran among the site's newest jobs
};

// kIo.
base::Result<RunsFound> FindEarlierRuns(store::Reader& reader, const std::vector<RunKeys>& jobs);

}  // namespace trainctl::coordinator
