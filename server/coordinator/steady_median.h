// The steady state of a run's metric, for the read thread.
#pragma once

#include <optional>
#include <string>

#include "common/base/ids.h"
#include "common/base/result.h"
#include "server/store/reader.h"

namespace trainctl::coordinator {

// Of the gang's points of one metric, the first step (allocation, compilation, cold caches) left
// out. nullopt: there are no others. kIo.
base::Result<std::optional<double>> SteadyMedian(store::Reader& reader, base::JobId job,
                                                 const std::string& metric);

}  // namespace trainctl::coordinator
