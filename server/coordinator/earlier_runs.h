// What earlier runs of the same shape took, for predictions of run time. For the read thread.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/estimate/run_time.h"
#include "server/store/reader.h"

namespace trainctl::coordinator {

// By shape (job::ShapeKey), in the order asked; each by device, the one that ran last first. kIo.
base::Result<std::vector<std::vector<job::EarlierRuns>>> FindEarlierRuns(
    store::Reader& reader, const std::vector<std::string>& shapes);

}  // namespace trainctl::coordinator
