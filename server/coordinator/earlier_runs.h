// What earlier runs of the same shape took, for predictions of run time. For the read thread.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/estimate/run_time.h"
#include "server/store/reader.h"

namespace trainctl::coordinator {

// What a job's time depends on.
struct RunKeys {
  std::string shape;  // job::ShapeKey
  std::string start;  // job::StartKey
};

// In the order asked; each by device, the one that ran last first. kIo.
base::Result<std::vector<job::EarlierTimes>> FindEarlierRuns(store::Reader& reader,
                                                             const std::vector<RunKeys>& jobs);

}  // namespace trainctl::coordinator
