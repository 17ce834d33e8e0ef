// Metric points and summaries as messages, for clients. Any value travels, NaN too: a diverged loss
// is a fact.
#pragma once

#include "common/rank/metric.h"

namespace trainctl::v1 {
class MetricPoint;
class MetricSummary;
}  // namespace trainctl::v1

namespace trainctl::wire {

v1::MetricPoint ToWire(const job::MetricPoint& point);

v1::MetricSummary ToWire(const job::MetricSummary& summary);
// Without a phase that this version does not know.
job::MetricSummary FromWire(const v1::MetricSummary& message);

}  // namespace trainctl::wire
