// What earlier runs of the same shape took, for predictions of run time. For the read thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/result.h"
#include "server/store/reader.h"

namespace trainctl::coordinator {

// Runs that SUCCEEDED on devices of one model.
struct EarlierRuns {
  static constexpr int64_t kMostJobs = 1000;  // the newest of the site are looked at
  static constexpr int64_t kMostRuns = 5;     // the newest of a shape and device count

  std::string device_name;
  double step_seconds = 0;  // the median of the runs' medians
  int64_t runs = 0;
  base::JobId latest;
};

// By shape (job::ShapeKey), in the order asked; each by device, the one that ran last first. kIo.
base::Result<std::vector<std::vector<EarlierRuns>>> FindEarlierRuns(
    store::Reader& reader, const std::vector<std::string>& shapes);

}  // namespace trainctl::coordinator
