#include "server/web/metric_list.h"

#include <utility>

#include "common/rank/metric.h"

namespace trainctl::web {
namespace {

// A total of another metric's points has none of its own.
bool HasPoints(const job::MetricInfo& metric) {
  return metric.reduction != job::Reduction::kTotal || metric.of == metric.id;
}

}  // namespace

record::Json MetricsDocument() {
  record::Json metrics = record::Json::array();
  for (const job::MetricInfo& metric : job::Metrics()) {
    if (!HasPoints(metric)) continue;
    metrics.push_back({{"name", metric.name},
                       {"label", metric.label},
                       {"unit", metric.unit},
                       {"section", job::Name(metric.section)}});
  }
  return {{"metrics", std::move(metrics)}};
}

}  // namespace trainctl::web
