#include "common/wire/metric_point.h"

#include "proto/trainctl.pb.h"

namespace trainctl::wire {
v1::MetricPoint ToWire(const job::MetricPoint& point) {
  v1::MetricPoint message;
  message.set_name(point.name);
  message.set_step(point.step);
  if (point.rank) message.set_rank(*point.rank);
  message.set_phase(std::string(Name(point.phase)));
  message.set_value(point.value);
  message.set_time(point.time);
  return message;
}

v1::MetricSummary ToWire(const job::MetricSummary& summary) {
  v1::MetricSummary message;
  message.set_name(summary.name);
  if (summary.rank) message.set_rank(*summary.rank);
  message.set_phase(std::string(Name(summary.phase)));
  message.set_latest(summary.latest);
  message.set_min(summary.min);
  message.set_max(summary.max);
  message.set_total(summary.total);
  message.set_count(summary.count);
  if (summary.median) message.set_median(*summary.median);
  return message;
}

job::MetricSummary FromWire(const v1::MetricSummary& message) {
  job::MetricSummary summary{.name = message.name(),
                             .phase = job::ParsePhase(message.phase()),
                             .latest = message.latest(),
                             .min = message.min(),
                             .max = message.max(),
                             .total = message.total(),
                             .count = message.count()};
  if (message.has_rank()) summary.rank = message.rank();
  if (message.has_median()) summary.median = message.median();
  return summary;
}

}  // namespace trainctl::wire
