#include "client/files/tensorboard_export.h"

#include "client/files/tensorboard_events.h"

namespace trainctl::client {
namespace {

std::string TagOf(const v1::MetricPoint& point) {
  std::string tag = point.name();
  if (point.has_rank()) tag += "/rank_" + std::to_string(point.rank());
  return point.phase().empty() ? tag : tag + "/" + point.phase();
}

}  // namespace

base::Status ExportEvents(Api& api, const v1::JobView& job, const std::string& folder,
                          FolderDraft* draft) {
  const int64_t begun = job.started_at() != 0 ? job.started_at() : job.submitted_at();
  // TensorBoard knows its files by this part of the name.
  const std::string file =
      folder + "/events.out.tfevents." + std::to_string(begun / 1'000'000) + "." + job.id();
  base::Status status = draft->Append(file, EventFileHead(begun));
  if (!status.ok()) return status;
  v1::MetricsRequest request;
  request.set_job(job.id());
  const base::Status read = api.Metrics(request, [&](const v1::MetricsResponse& response) {
    std::string events;
    for (const v1::MetricPoint& point : response.points())
      events += ScalarEvent(TagOf(point), point.step(), point.value(), point.time());
    status = draft->Append(file, events);
    return status.ok();
  });
  return status.ok() ? read : status;
}

}  // namespace trainctl::client
