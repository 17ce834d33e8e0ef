#include "client/show/metric_names.h"

#include "client/show/format.h"
#include "common/base/did_you_mean.h"

namespace trainctl::client {

base::Result<std::vector<job::Metric>> ParseMetricNames(const std::string& names) {
  std::vector<std::string_view> known;
  for (const job::MetricInfo& metric : job::Metrics()) known.push_back(metric.name);
  std::vector<job::Metric> metrics;
  for (const std::string& name : Split(names, ',')) {
    const job::MetricInfo* metric = job::FindMetric(name);
    if (metric == nullptr) {
      const std::string hint = base::DidYouMean(name, known);
      return base::Error{base::Code::kInvalid, base::WithHint("no metric '" + name + "'", hint,
                                                              "there are " + Join(known, ", "))};
    }
    metrics.push_back(metric->id);
  }
  return metrics;
}

}  // namespace trainctl::client
