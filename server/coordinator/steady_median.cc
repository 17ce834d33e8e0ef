#include "server/coordinator/steady_median.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace trainctl::coordinator {

base::Result<std::optional<double>> SteadyMedian(store::Reader& reader, base::JobId job,
                                                 const std::string& metric) {
  std::vector<double> values;
  bool is_first = true;
  const base::Status read =
      reader.Points(job, {{metric}, std::nullopt}, [&](std::span<const job::MetricPoint> points) {
        for (const job::MetricPoint& point : points) {
          if (point.rank || std::exchange(is_first, false)) continue;
          values.push_back(point.value);
        }
        return true;
      });
  if (!read) return read.error();
  if (values.empty()) return std::optional<double>();
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return std::optional<double>(*middle);
}

}  // namespace trainctl::coordinator
