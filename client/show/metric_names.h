// Metrics by the names that people type. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/rank/metric.h"

namespace trainctl::client {

// "loss,val_loss". kInvalid: there is no such metric, with a did-you-mean and all there are.
base::Result<std::vector<job::Metric>> ParseMetricNames(const std::string& names);

}  // namespace trainctl::client
