// The points of a job as curves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/api.h"
#include "client/plot/curve.h"
#include "common/rank/metric.h"

namespace trainctl::client {

struct CurvesWanted {
  std::vector<job::Metric> metrics;
  std::optional<int64_t> rank;  // of a metric that each rank has: only its curve
  // Of a metric that more ranks have: only the one with the highest value, which its label says.
  std::optional<size_t> most_ranks = {};
  bool over_time = false;  // x is seconds since the job's start, else the step
};

// A curve for each metric, of one that each rank has for each rank. Where a step has several
// points, of the phases of memory, the largest counts. A metric without points has no curve. Errors
// are Api::Metrics'.
base::Result<std::vector<Curve>> ReadCurves(Api& api, const v1::JobView& job,
                                            const CurvesWanted& wanted);

// "loss", "memory: peak allocated, memory: reserved": what the curves are of.
std::string TitleOf(const std::vector<job::Metric>& metrics);

}  // namespace trainctl::client
