#include "server/rpc/metrics_stream.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "common/wire/metric_point.h"
#include "server/coordinator/questions.h"

namespace trainctl::rpc {
namespace {

struct Series {
  base::JobId job;
  std::set<std::string> names;  // in order
};

base::Result<Series> FindSeries(store::Reader& reader, const v1::MetricsRequest& request) {
  const auto job = coordinator::ReadOneJob(reader, request.job());
  if (!job) return job.error();
  const auto summaries = reader.Summaries(job->row.id);
  if (!summaries) return summaries.error();
  const std::set<std::string> wanted(request.names().begin(), request.names().end());
  Series series{job->row.id, {}};
  for (const job::MetricSummary& summary : *summaries) {
    if (wanted.empty() || wanted.contains(summary.name)) series.names.insert(summary.name);
  }
  return series;
}

}  // namespace

MetricsStream::MetricsStream(Backend& backend, const v1::MetricsRequest& request)
    : WriteStream(backend.loop, backend.client_streams), backend_(backend), request_(request) {}

void MetricsStream::Pump() {
  if (waiting_) return;
  if (!job_) return Find();
  if (written_ < points_.size()) return WritePoints();
  if (!names_.empty()) return ReadMetric();
  Close(grpc::Status::OK);
}

void MetricsStream::Find() {
  waiting_ = true;
  backend_.reads.Ask<Series>(
      [request = request_](store::Reader& reader) { return FindSeries(reader, request); },
      Later<Series>([this](const Series& series) {
        waiting_ = false;
        job_ = series.job;
        names_.assign(series.names.begin(), series.names.end());
      }));
}

void MetricsStream::ReadMetric() {
  using Points = std::vector<job::MetricPoint>;
  waiting_ = true;
  store::MetricFilter filter{{std::move(names_.front())}, std::nullopt};
  names_.pop_front();
  if (request_.has_rank()) filter.rank = request_.rank();
  const auto read = [job = job_, filter](store::Reader& reader) -> base::Result<Points> {
    Points points;
    const base::Status done =
        reader.Points(job, filter, [&points](std::span<const job::MetricPoint> piece) {
          points.insert(points.end(), piece.begin(), piece.end());
          return true;
        });
    if (!done) return done.error();
    return points;
  };
  backend_.reads.Ask<Points>(read, Later<Points>([this](Points points) {
                               waiting_ = false;
                               points_ = std::move(points);
                               written_ = 0;
                             }));
}

void MetricsStream::WritePoints() {
  v1::MetricsResponse response;
  const size_t end = std::min(points_.size(), written_ + kPointsPerMessage);
  for (; written_ < end; ++written_) *response.add_points() = wire::ToWire(points_[written_]);
  Write(std::move(response));
}

}  // namespace trainctl::rpc
