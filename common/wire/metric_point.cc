#include "common/wire/metric_point.h"

#include "common/job/outcome.h"
#include "common/wire/rank_key.h"
#include "proto/trainctl.pb.h"

namespace trainctl::wire {
namespace {

base::Error Invalid(const std::string& text) { return {base::Code::kInvalid, text}; }

}  // namespace

v1::MetricPoint ToWire(const job::MetricPoint& point) {
  v1::MetricPoint message;
  message.set_name(point.name);
  message.set_step(point.step);
  if (point.rank) message.set_rank(*point.rank);
  message.set_phase(point.phase);
  message.set_value(point.value);
  message.set_time(point.time);
  return message;
}

base::Result<job::MetricPoint> FromWire(const v1::MetricPoint& message) {
  if (message.name().empty()) return Invalid("name: empty: expected a metric's name");
  if (message.name().size() > kMaxMetricNameBytes) {
    return Invalid("name: " + std::to_string(message.name().size()) + " bytes: expected at most " +
                   std::to_string(kMaxMetricNameBytes));
  }
  if (message.step() < 0)
    return Invalid("step: " + std::to_string(message.step()) + ": expected a number from 0");
  if (message.has_rank() && (message.rank() < 0 || message.rank() > kMaxRank)) {
    return Invalid("rank: " + std::to_string(message.rank()) + ": expected a number from 0 to " +
                   std::to_string(kMaxRank));
  }
  if (!message.phase().empty() && !job::ParsePhase(message.phase())) {
    return Invalid("phase: '" + message.phase().substr(0, 64) +
                   "': expected a phase of a step such as after_forward");
  }
  job::MetricPoint point;
  point.name = message.name();
  point.step = message.step();
  if (message.has_rank()) point.rank = message.rank();
  point.phase = message.phase();
  point.value = message.value();
  point.time = message.time();
  return point;
}

v1::MetricSummary ToWire(const job::MetricSummary& summary) {
  v1::MetricSummary message;
  message.set_name(summary.name);
  if (summary.rank) message.set_rank(*summary.rank);
  message.set_phase(summary.phase);
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
                             .phase = message.phase(),
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
