#include "common/record/summaries.h"

#include "common/wire/metric_point.h"
#include "proto/trainctl.pb.h"

namespace trainctl::record {

std::vector<job::MetricSummary> SummariesOf(const v1::JobDetail& detail) {
  std::vector<job::MetricSummary> summaries;
  for (const v1::MetricSummary& summary : detail.summaries())
    summaries.push_back(wire::FromWire(summary));
  return summaries;
}

}  // namespace trainctl::record
