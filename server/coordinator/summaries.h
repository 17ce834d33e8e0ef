// What is kept of a run's metrics, complete: what job::Reduce wants. For the read thread.
#pragma once

#include <vector>

#include "common/base/ids.h"
#include "common/base/result.h"
#include "common/rank/metric.h"
#include "server/store/reader.h"

namespace trainctl::coordinator {

// The store's summaries, with the medians of those metrics that are shown as one: of all points but
// the first, in which the run allocates and compiles. kIo.
base::Result<std::vector<job::MetricSummary>> ReadSummaries(store::Reader& reader, base::JobId job);

}  // namespace trainctl::coordinator
