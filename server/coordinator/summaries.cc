#include "server/coordinator/summaries.h"

#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "common/rank/reduction.h"

namespace trainctl::coordinator {
namespace {

base::Result<std::optional<double>> SteadyMedian(store::Reader& reader, base::JobId job,
                                                 const job::MetricSummary& summary) {
  std::vector<double> values;
  bool is_first = true;
  const auto take = [&](std::span<const job::MetricPoint> points) {
    for (const job::MetricPoint& point : points) {
      const bool is_other = point.rank != summary.rank || point.phase != summary.phase;
      if (is_other || std::exchange(is_first, false) || std::isnan(point.value)) continue;
      values.push_back(point.value);
    }
    return true;
  };
  const base::Status read = reader.Points(job, {{summary.name}, summary.rank}, take);
  if (!read) return read.error();
  return job::Median(std::move(values));
}

}  // namespace

base::Result<std::vector<job::MetricSummary>> ReadSummaries(store::Reader& reader,
                                                            base::JobId job) {
  auto summaries = reader.Summaries(job);
  if (!summaries) return summaries.error();
  for (job::MetricSummary& summary : *summaries) {
    const job::MetricInfo* info = job::FindMetric(summary.name);
    if (info == nullptr || info->reduction != job::Reduction::kMedian) continue;
    const auto median = SteadyMedian(reader, job, summary);
    if (!median) return median.error();
    summary.median = *median;
  }
  return summaries;
}

}  // namespace trainctl::coordinator
