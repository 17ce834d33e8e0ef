// What was predicted of a job beside what was measured of it, and the error. Pure.
#pragma once

#include <vector>

#include "common/estimate/prediction.h"
#include "common/rank/metric.h"
#include "common/record/document.h"
#include "proto/trainctl.pb.h"

namespace trainctl::record {

struct ForesightRow {
  const job::MetricInfo* metric = nullptr;
  double predicted = 0;
  double measured = 0;
  std::string phase = {};     // of a kind that phases have more or less of: where most was measured
  bool is_comparable = true;  // not where a run that ended out of memory did not come to it

  double error() const { return (predicted - measured) / measured; }
};

// Memory by kind (the worst rank's largest phase), peak and time; a row without a prediction or a
// measurement is left out. So is memory: reserved on CPU slots, where it is the whole process's.
std::vector<ForesightRow> ForesightRows(const job::Prediction& prediction,
                                        const v1::JobDetail& detail);

// [{"key", "predicted", "measured", "error"}]: error = (predicted − measured) / measured; null for
// what a run that ended out of memory did not come to.
Json ForesightRecords(const job::Prediction& prediction, const v1::JobDetail& detail);

}  // namespace trainctl::record
