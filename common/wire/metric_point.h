// Metric points and summaries ↔ messages. Any value travels, NaN too: a diverged loss is a fact;
// who stores it decides.
#pragma once

#include <cstddef>

#include "common/base/result.h"
#include "common/rank/metric.h"

namespace trainctl::v1 {
class MetricPoint;
class MetricSummary;
}  // namespace trainctl::v1

namespace trainctl::wire {

// Longer names are refused; every name of job::Metrics() is far shorter.
inline constexpr size_t kMaxMetricNameBytes = 128;

v1::MetricPoint ToWire(const job::MetricPoint& point);

// kInvalid names the field: an empty or overlong name, a negative step or rank, a phase that is no
// Phase.
base::Result<job::MetricPoint> FromWire(const v1::MetricPoint& message);

v1::MetricSummary ToWire(const job::MetricSummary& summary);
job::MetricSummary FromWire(const v1::MetricSummary& message);

}  // namespace trainctl::wire
