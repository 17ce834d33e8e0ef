#include "client/files/tracked_run.h"

#include "common/track/tensorboard_events.h"

namespace trainctl::client {

std::string RunIdOf(const v1::JobView& view) {
  return view.id() + "-" + std::to_string(view.submitted_at());
}

int64_t StartOf(const v1::JobView& view) {
  return view.started_at() != 0 ? view.started_at() : view.submitted_at();
}

std::string CurveOf(const v1::MetricPoint& point) {
  const auto rank = point.has_rank() ? std::optional(point.rank()) : std::nullopt;
  return track::CurveName(point.name(), rank, point.phase());
}

base::Status ReadPoints(Api& api, const std::string& job,
                        const std::function<base::Status(const v1::MetricsResponse&)>& take) {
  base::Status taken = base::Ok{};
  v1::MetricsRequest request;
  request.set_job(job);
  const base::Status read = api.Metrics(request, [&](const v1::MetricsResponse& response) {
    taken = take(response);
    return taken.ok();
  });
  return taken.ok() ? read : taken;
}

}  // namespace trainctl::client
