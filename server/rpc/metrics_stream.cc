#include "server/rpc/metrics_stream.h"

#include <span>
#include <utility>
#include <vector>

#include "common/wire/metric_point.h"
#include "server/coordinator/questions.h"

namespace trainctl::rpc {

MetricsStream::MetricsStream(Backend& backend) : WriteStream(backend), backend_(backend) {}

void MetricsStream::Pump() {
  if (waiting_) return;
  if (!job_) return Find();
  if (!at_end_) return ReadPage();
  Close(grpc::Status::OK);
}

void MetricsStream::Find() {
  waiting_ = true;
  backend_.reads.Ask<base::JobId>(
      user(),
      [name = request_.job()](store::Reader& reader) -> base::Result<base::JobId> {
        const auto job = coordinator::ReadOneJob(reader, name);
        if (!job) return job.error();
        return job->row.id;
      },
      Later<base::JobId>([this](base::JobId job) {
        waiting_ = false;
        job_ = job;
      }));
}

void MetricsStream::ReadPage() {
  using Points = std::vector<job::MetricPoint>;
  waiting_ = true;
  store::MetricFilter filter{.names = {request_.names().begin(), request_.names().end()},
                             .behind = last_};
  if (request_.has_rank()) filter.rank = request_.rank();
  backend_.reads.Ask<Points>(
      user(),
      [job = job_, filter](store::Reader& reader) -> base::Result<Points> {
        Points page;
        const base::Status done =
            reader.Points(job, filter, [&page](std::span<const job::MetricPoint> piece) {
              page.assign(piece.begin(), piece.end());
              return false;
            });
        if (!done) return done.error();
        return page;
      },
      Later<Points>([this](const Points& page) {
        waiting_ = false;
        at_end_ = page.empty();
        if (at_end_) return;
        last_ = page.back();
        v1::MetricsResponse response;
        for (const job::MetricPoint& point : page) *response.add_points() = wire::ToWire(point);
        Write(std::move(response));
      }));
}

}  // namespace trainctl::rpc
