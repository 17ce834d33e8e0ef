// Jobs as a file store of MLflow, which `mlflow ui --backend-store-uri` reads:
//
//   EXPERIMENT/meta.yaml                     the group, or the only job
//   EXPERIMENT/RUN/meta.yaml                 a job: name, user, status, start and end
//   EXPERIMENT/RUN/params/KEY                a setting of the resolved job
//   EXPERIMENT/RUN/tags/KEY                  its own tags, and mlflow.… and trainctl.… of ours
//   EXPERIMENT/RUN/metrics/CURVE             a line a point: milliseconds, value, step; "." for "/"
//   EXPERIMENT/RUN/artifacts                 job.json and report.md
//
// Ids are made of ours and of the time of submission. So what is exported again has the same, and
// what two sites export has not.
#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "client/files/run_again.h"
#include "client/files/tracked_run.h"
#include "client/files/tracker_exports.h"
#include "client/show/character_width.h"
#include "client/show/decoded.h"
#include "client/show/escaping.h"
#include "client/show/format.h"
#include "client/show/job_report.h"
#include "client/show/output.h"
#include "common/job/check_job.h"
#include "common/job/job_json.h"

namespace trainctl::client {
namespace {

constexpr size_t kLongestKey = 200, kLongestValue = 6000;  // MLflow takes 250 and 6,000
constexpr size_t kLongestName = 500;                       // of an experiment

// MLflow's RunStatus.
enum class RunStatus { kRunning = 1, kScheduled = 2, kFinished = 3, kFailed = 4, kKilled = 5 };

using Members = std::vector<std::pair<std::string, Json>>;

// Flat YAML. Values are JSON, which YAML holds but for controls; those are shown as \u001b.
std::string Yaml(const Members& members) {
  std::string text;
  for (const auto& [key, value] : members) {
    const Json shown = value.is_string() ? Json(Escaped(value.get<std::string>())) : value;
    text += key + ": " + shown.dump() + "\n";
  }
  return text;
}

int64_t Millis(int64_t micros) { return micros / 1000; }

std::string ExperimentOf(const v1::GetResponse& jobs) {
  return std::to_string(jobs.jobs(0).view().submitted_at());
}

RunStatus StatusOf(const v1::JobView& view) {
  const std::optional<job::Outcome> outcome = OutcomeOf(view);
  switch (StateOf(view).value_or(job::JobState::kRunning)) {
    case job::JobState::kQueued: return RunStatus::kScheduled;
    case job::JobState::kStarting:
    case job::JobState::kRunning:
    case job::JobState::kStopping: return RunStatus::kRunning;
    case job::JobState::kFinished: break;
  }
  if (outcome == job::Outcome::kSucceeded) return RunStatus::kFinished;
  return outcome == job::Outcome::kCancelled ? RunStatus::kKilled : RunStatus::kFailed;
}

Json TimeOrNull(int64_t micros) { return micros == 0 ? Json() : Json(Millis(micros)); }

// As Python reads it again: "2.5", "nan", "inf".
std::string Exactly(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

// The name of a param or tag is a file's.
std::string KeyFileOf(const std::string& key) {
  std::string name = key.substr(0, kLongestKey);
  std::ranges::replace_if(
      name,
      [](unsigned char c) {
        return std::string_view("_.-: ").find(c) == std::string_view::npos && std::isalnum(c) == 0;
      },
      '_');
  return name.empty() || name.front() == '.' ? "_" + name : name;
}

// A "/" would make a folder of a curve's name, and a rank's curve has some of its phases below it.
std::string MetricFileOf(const v1::MetricPoint& point) {
  std::string name = CurveOf(point);
  std::ranges::replace(name, '/', '.');
  return name;
}

std::map<std::string, std::string> TagsOf(const v1::GetResponse& jobs, const v1::JobView& view) {
  std::map<std::string, std::string> tags;
  for (const std::string& tag : view.tags()) {
    const size_t end = tag.find('=');
    tags[KeyFileOf(tag.substr(0, end))] = end == std::string::npos ? "" : tag.substr(end + 1);
  }
  tags["mlflow.runName"] = Escaped(view.name());
  tags["mlflow.user"] = view.owner();
  tags["mlflow.source.name"] = "trainctl";
  tags["mlflow.note.content"] = view.message();
  tags["trainctl.job"] = view.id();
  tags["trainctl.group"] = jobs.group();
  tags["trainctl.outcome"] = view.outcome();
  tags["trainctl.devices"] = Join(view.placement(), " ");
  std::erase_if(tags, [](const auto& tag) {
    return tag.second.empty() &&
           (tag.first.starts_with("mlflow.") || tag.first.starts_with("trainctl."));
  });
  return tags;
}

// Writes one run until something fails, and remembers what.
class RunWriter {
 public:
  RunWriter(const std::string& experiment, const v1::JobView& view, FolderDraft* draft)
      : experiment_(experiment),
        view_(view),
        folder_(experiment + "/" + RunIdOf(view)),
        draft_(draft) {}

  // MLflow takes a folder for a run's where these are.
  void WriteMeta() {
    for (const char* part : {"/metrics", "/params", "/artifacts"})
      Take(draft_->AddFolder(folder_ + part));
    Append("meta.yaml", Yaml({{"artifact_uri", draft_->folder() + "/" + folder_ + "/artifacts"},
                              {"deleted_time", nullptr},
                              {"end_time", TimeOrNull(view_.ended_at())},
                              {"entry_point_name", ""},
                              {"experiment_id", experiment_},
                              {"lifecycle_stage", "active"},
                              {"run_id", RunIdOf(view_)},
                              {"run_name", view_.name()},
                              {"source_name", ""},
                              {"source_type", 4},
                              {"source_version", ""},
                              {"start_time", Millis(StartOf(view_))},
                              {"status", static_cast<int>(StatusOf(view_))},
                              {"tags", Json::array()},
                              {"user_id", view_.owner()}}));
  }

  void Append(const std::string& path, std::string_view text) {
    if (status_.ok()) status_ = draft_->Append(folder_ + "/" + path, text);
  }

  void WriteCurves(Api& api) {
    if (!status_.ok()) return;
    status_ = ReadPoints(api, view_.id(), [&](const v1::MetricsResponse& response) {
      std::map<std::string, std::string> lines;
      for (const v1::MetricPoint& point : response.points())
        lines[MetricFileOf(point)] += std::to_string(Millis(point.time())) + " " +
                                      Exactly(point.value()) + " " + std::to_string(point.step()) +
                                      "\n";
      for (const auto& [curve, text] : lines) Append("metrics/" + curve, text);
      return status_;
    });
  }

  const base::Status& status() const { return status_; }

 private:
  void Take(const base::Status& status) {
    if (status_.ok()) status_ = status;
  }

  const std::string& experiment_;
  const v1::JobView& view_;
  const std::string folder_;
  FolderDraft* draft_;
  base::Status status_ = base::Ok{};
};

base::Status WriteRun(Api& api, const v1::GetResponse& jobs, const v1::JobDetail& detail,
                      FolderDraft* draft) {
  const std::string experiment = ExperimentOf(jobs);
  RunWriter run(experiment, detail.view(), draft);
  run.WriteMeta();
  for (const auto& [key, value] : TagsOf(jobs, detail.view())) run.Append("tags/" + key, value);
  if (const base::Result<job::JobSpec> job = job::FromJson(detail.job_json()); job.ok()) {
    for (const auto& [key, value] : job::Flatten(job::ResolveJob(*job)))
      run.Append("params/" + KeyFileOf(key), FirstCodePoints(value, kLongestValue));
  }
  run.Append("artifacts/job.json", JobFileText(detail));
  run.Append("artifacts/report.md", JobReport(detail));
  run.WriteCurves(api);
  return run.status();
}

}  // namespace

base::Status ExportMlflow(Api& api, const v1::GetResponse& jobs, FolderDraft* draft) {
  const v1::JobView& first = jobs.jobs(0).view();
  const std::string experiment = ExperimentOf(jobs);
  const base::Status written = draft->Append(
      experiment + "/meta.yaml",
      Yaml({{"artifact_location", draft->folder() + "/" + experiment},
            {"creation_time", Millis(first.submitted_at())},
            {"experiment_id", experiment},
            {"last_update_time", Millis(first.submitted_at())},
            {"lifecycle_stage", "active"},
            {"name", FirstCodePoints(jobs.group().empty() ? first.name() : jobs.group_name(),
                                     kLongestName)}}));
  if (!written.ok()) return written;
  for (const v1::JobDetail& detail : jobs.jobs()) {
    const base::Status run = WriteRun(api, jobs, detail, draft);
    if (!run.ok()) return run;
  }
  return base::Ok{};
}

}  // namespace trainctl::client
