#include "client/files/job_export.h"

#include <algorithm>
#include <cctype>

#include "client/files/run_again.h"
#include "client/files/tracked_run.h"
#include "client/show/job_report.h"
#include "client/show/output.h"
#include "common/record/detail_record.h"
#include "common/record/memory_record.h"
#include "common/record/point_record.h"

namespace trainctl::client {
namespace {

std::string MemoryCsv(const v1::JobDetail& detail) {
  std::vector<Json> records;
  for (const record::MemoryRow& row : record::MemoryRows(detail))
    records.push_back(record::MemoryRecord(row));
  return RenderCsv(records);
}

// Appends until something fails, and remembers what.
class Writer {
 public:
  Writer(FolderDraft* draft, std::string folder)
      : draft_(draft), prefix_(folder.empty() ? "" : std::move(folder) + "/") {}

  bool Append(const std::string& path, std::string_view text) {
    if (status_.ok()) status_ = draft_->Append(prefix_ + path, text);
    return status_.ok();
  }
  // Of a call to the coordinator, where the disk has not failed before.
  void Take(const base::Status& status) {
    if (status_.ok() && !status.ok()) status_ = status;
  }
  const base::Status& status() const { return status_; }

 private:
  FolderDraft* draft_;
  const std::string prefix_;
  base::Status status_ = base::Ok{};
};

// Long runs have millions of points: they go through without being kept.
void WriteMetrics(Api& api, const std::string& job, Writer* writer) {
  writer->Append("metrics.csv", RenderCsvHeader(record::PointColumns()));
  writer->Append("metrics.jsonl", "");
  v1::MetricsRequest request;
  request.set_job(job);
  writer->Take(api.Metrics(request, [&](const v1::MetricsResponse& response) {
    std::string csv, lines;
    for (const v1::MetricPoint& point : response.points()) {
      const Json record = record::PointRecord(point);
      csv += RenderCsvLine(record, record::PointColumns());
      lines += RenderLine(record);
    }
    return writer->Append("metrics.csv", csv) && writer->Append("metrics.jsonl", lines);
  }));
}

void WriteLogs(Api& api, const v1::JobDetail& detail, Writer* writer) {
  for (const v1::AttemptView& attempt : detail.attempts()) {
    const std::string folder = "logs/attempt-" + std::to_string(attempt.attempt()) + "/rank-";
    for (const v1::RankView& rank : attempt.ranks())
      writer->Append(folder + std::to_string(rank.rank()) + ".log", "");
    v1::LogsRequest request;
    request.set_job(detail.view().id());
    request.set_attempt(attempt.attempt());
    writer->Take(api.Logs(request, [&](const v1::LogChunk& chunk) {
      return writer->Append(folder + std::to_string(chunk.rank()) + ".log", chunk.data());
    }));
  }
}

}  // namespace

std::string FolderOf(const v1::JobView& view) {
  std::string folder = view.id() + "-" + view.name();
  std::replace_if(
      folder.begin(), folder.end(),
      [](unsigned char c) { return c != '-' && c != '.' && !std::isalnum(c); }, '_');
  return folder.substr(0, 100);
}

base::Status ExportJob(Api& api, const v1::JobDetail& detail, const std::string& folder,
                       FolderDraft* draft) {
  Writer writer(draft, folder);
  writer.Append("job.json", JobFileText(detail));
  writer.Append("report.md", JobReport(detail));
  writer.Append("detail.json", RenderDocument(record::DetailRecord(detail)));
  writer.Append("memory.csv", MemoryCsv(detail));
  WriteMetrics(api, detail.view().id(), &writer);
  WriteLogs(api, detail, &writer);
  return writer.status();
}

}  // namespace trainctl::client
