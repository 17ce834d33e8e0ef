// Jobs as offline runs of Weights & Biases, which `wandb sync` uploads: for each a folder
// offline-run-TIME-ID with run-ID.wandb. The group, or the only job, is the project. A point is of
// its step's row, of whichever rank and phase; all of a job's points are held in memory.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "client/files/tracked_run.h"
#include "client/files/tracker_exports.h"
#include "client/files/wandb_records.h"
#include "client/show/calendar_time.h"
#include "client/show/decoded.h"
#include "client/show/escaping.h"
#include "client/show/format.h"
#include "client/show/output.h"
#include "common/job/check_job.h"
#include "common/job/job_json.h"

namespace trainctl::client {
namespace {

constexpr size_t kPieceBytes = 1 << 20;  // of what is written at once
constexpr int kLongestProject = 100;

struct StepRow {
  int64_t time = 0;  // of its newest point; wall microseconds
  WandbRow values;
};

// JSON has no NaN; wandb has these words for them.
std::string NumberJson(double value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  return Json(value).dump();
}

// Numbers and booleans as such.
std::string SettingJson(const std::string& text) {
  const Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_primitive() && !value.is_discarded() ? value.dump() : Json(Escaped(text)).dump();
}

// A project's name has none of these.
std::string ProjectOf(const v1::GetResponse& jobs) {
  std::string name = Escaped(jobs.group().empty() ? jobs.jobs(0).view().name() : jobs.group_name());
  std::ranges::replace_if(
      name,
      [](char c) { return std::string_view("/\\#?%:\n\t").find(c) != std::string_view::npos; },
      '_');
  return Truncate(name, kLongestProject);
}

// "20261122_201944"
std::string CompactTime(int64_t micros) {
  std::string time = UtcTime(micros).substr(0, 19);
  std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
  std::ranges::replace(time, ' ', '_');
  return time;
}

WandbRun RunRecordOf(const v1::GetResponse& jobs, const v1::JobDetail& detail) {
  const v1::JobView& view = detail.view();
  WandbRun run{.id = RunIdOf(view),
               .project = ProjectOf(jobs),
               .group = jobs.group(),
               .name = Escaped(view.name()),
               .notes = Escaped(view.message()),
               .tags = {view.tags().begin(), view.tags().end()},
               .start = StartOf(view)};
  if (view.placement_size() > 0)
    run.host = view.placement(0).substr(0, view.placement(0).rfind('/'));
  run.tags.push_back(view.outcome().empty() ? view.state() : view.outcome());
  for (std::string& tag : run.tags) tag = Escaped(tag);
  run.config = {{"trainctl.job", Json(view.id()).dump()},
                {"trainctl.devices", Json(Join(view.placement(), " ")).dump()}};
  if (const base::Result<job::JobSpec> job = job::FromJson(detail.job_json()); job.ok()) {
    for (const auto& [key, value] : job::Flatten(job::ResolveJob(*job)))
      run.config[key] = SettingJson(value);
  }
  return run;
}

base::Result<std::map<int64_t, StepRow>> ReadRows(Api& api, const std::string& job) {
  std::map<int64_t, StepRow> rows;
  const base::Status read = ReadPoints(api, job, [&](const v1::MetricsResponse& response) {
    for (const v1::MetricPoint& point : response.points()) {
      StepRow& row = rows[point.step()];
      row.values[CurveOf(point)] = NumberJson(point.value());
      row.time = std::max(row.time, point.time());
    }
    return base::Status(base::Ok{});
  });
  if (!read.ok()) return read.error();
  return rows;
}

double SecondsBetween(int64_t from, int64_t to) { return static_cast<double>(to - from) / 1e6; }

base::Status ExportRun(Api& api, const v1::GetResponse& jobs, const v1::JobDetail& detail,
                       FolderDraft* draft) {
  const v1::JobView& view = detail.view();
  const int64_t start = StartOf(view);
  base::Result<std::map<int64_t, StepRow>> rows = ReadRows(api, view.id());
  if (!rows.ok()) return rows.error();
  const std::string id = RunIdOf(view);
  const std::string file = "offline-run-" + CompactTime(start) + "-" + id + "/run-" + id + ".wandb";
  WandbLog log;
  log.AddRun(RunRecordOf(jobs, detail));
  WandbRow summary;
  std::string text;
  for (auto& [step, row] : *rows) {
    for (const auto& [curve, value] : row.values) summary[curve] = value;
    row.values["_step"] = std::to_string(step);
    row.values["_timestamp"] = NumberJson(SecondsBetween(0, row.time));
    row.values["_runtime"] = NumberJson(SecondsBetween(start, row.time));
    log.AddHistory(step, row.values);
    text += log.Take();
    if (text.size() < kPieceBytes) continue;
    if (const base::Status written = draft->Append(file, text); !written.ok()) return written;
    text.clear();
  }
  summary["outcome"] = Json(view.outcome().empty() ? view.state() : view.outcome()).dump();
  log.AddSummary(summary);
  if (HasEnded(view)) {
    const auto runtime = static_cast<int64_t>(SecondsBetween(start, view.ended_at()));
    log.AddExit(Succeeded(view) ? 0 : 1, std::max<int64_t>(0, runtime));
  }
  return draft->Append(file, text + log.Take());
}

}  // namespace

base::Status ExportWandb(Api& api, const v1::GetResponse& jobs, FolderDraft* draft) {
  for (const v1::JobDetail& detail : jobs.jobs()) {
    const base::Status written = ExportRun(api, jobs, detail, draft);
    if (!written.ok()) return written;
  }
  return base::Ok{};
}

}  // namespace trainctl::client
