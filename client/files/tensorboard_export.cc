// Jobs' curves as runs of TensorBoard: for each job one event file in a folder, with a scalar for
// each curve (tracked_run.h).
#include "client/files/job_export.h"
#include "client/files/tracked_run.h"
#include "client/files/tracker_exports.h"
#include "common/track/tensorboard_events.h"

namespace trainctl::client {
namespace {

base::Status ExportEventsOf(Api& api, const v1::JobView& job, FolderDraft* draft) {
  const int64_t begun = StartOf(job);
  // TensorBoard knows its files by this part of the name.
  const std::string file =
      FolderOf(job) + "/events.out.tfevents." + std::to_string(begun / 1'000'000) + "." + job.id();
  const base::Status head = draft->Append(file, track::EventFileHead(begun));
  if (!head.ok()) return head;
  return ReadPoints(api, job.id(), [&](const v1::MetricsResponse& response) {
    std::string events;
    for (const v1::MetricPoint& point : response.points())
      events += track::ScalarEvent(CurveOf(point), point.step(), point.value(), point.time());
    return draft->Append(file, events);
  });
}

}  // namespace

base::Status ExportEvents(Api& api, const v1::GetResponse& jobs, FolderDraft* draft) {
  for (const v1::JobDetail& detail : jobs.jobs()) {
    const base::Status written = ExportEventsOf(api, detail.view(), draft);
    if (!written.ok()) return written;
  }
  return base::Ok{};
}

}  // namespace trainctl::client
