// What is kept of a job's metrics, out of a message.
#pragma once

#include <vector>

#include "common/rank/metric.h"

namespace trainctl::v1 {
class JobDetail;
}

namespace trainctl::record {

std::vector<job::MetricSummary> SummariesOf(const v1::JobDetail& detail);

}  // namespace trainctl::record
