#include "client/show/job_text.h"

#include "client/show/calendar_time.h"
#include "client/show/format.h"
#include "common/base/size.h"
#include "common/estimate/lora_targets.h"
#include "common/estimate/memory_estimate.h"
#include "common/job/check_job.h"
#include "common/job/job_json.h"
#include "common/rank/rank_json.h"
#include "common/rank/reduction.h"
#include "common/wire/metric_point.h"

namespace trainctl::client {
namespace {

// Of a job that names none.
std::string TargetsText(const job::LoraSpec& lora, const v1::JobDetail& detail) {
  const auto inspection = job::InspectionFromJson(detail.inspection_json());
  if (!inspection.ok()) return "all linear layers";
  return Join(job::TargetsInForce(lora, inspection->model), ",");
}

}  // namespace

std::string GroupText(const v1::JobView& view) {
  return view.group().empty() ? "" : NameWithId(view.group_name(), view.group());
}

std::string GroupOrJobText(const v1::GetResponse& jobs) {
  if (!jobs.group().empty()) return NameWithId(jobs.group_name(), jobs.group());
  return NameWithId(jobs.jobs(0).view().name(), jobs.jobs(0).view().id());
}

std::string StepsText(const v1::JobView& view) {
  return view.steps() == 0 ? "" : WithThousands(view.step()) + " of " + WithThousands(view.steps());
}

std::string NoRankText(const v1::JobView& view, int64_t rank) {
  if (rank < view.devices()) return "";
  return NameWithId(view.name(), view.id()) + " has no rank " + std::to_string(rank) + ": it has " +
         std::to_string(view.devices());
}

std::string TimeText(int64_t micros) { return micros == 0 ? "" : LocalMoment(micros); }

std::vector<std::pair<std::string, std::string>> SettingsOf(const v1::JobDetail& detail) {
  const base::Result<job::JobSpec> job = job::FromJson(detail.job_json());
  if (!job.ok()) return {};
  std::vector<std::pair<std::string, std::string>> settings = job::Flatten(job::ResolveJob(*job));
  std::erase_if(settings, [](const auto& setting) {
    const std::string& value = setting.second;
    return value == "null" || value.empty() || value == "{}";
  });
  for (auto& [key, value] : settings) {
    if (key == "lora.targets" && value == "[]") value = TargetsText(*job->lora, detail);
  }
  return settings;
}

std::string PredictedStartText(const v1::JobView& view) {
  if (view.predicted_start() == 0) return "";
  return "about " + LocalTime(view.predicted_start()) +
         ", a prediction: if other jobs end when expected";
}

std::vector<std::string> Causes(const v1::AttemptView& attempt) {
  std::vector<std::string> causes;
  if (attempt.has_rank()) causes.push_back("rank " + std::to_string(attempt.rank()));
  if (attempt.has_exit_code()) causes.push_back("exit code " + std::to_string(attempt.exit_code()));
  if (attempt.has_signal()) causes.push_back("signal " + std::to_string(attempt.signal()));
  return causes;
}

std::optional<job::OomDetail> OomOf(const v1::AttemptView& attempt) {
  base::Result<job::OomDetail> oom = job::OomDetailFromJson(attempt.oom_json());
  return oom ? std::optional(*std::move(oom)) : std::nullopt;
}

std::string OomText(const job::OomDetail& oom) {
  return "asked for " + base::FormatBytes(oom.requested_bytes) + " in " + job::Name(oom.phase) +
         " with a limit of " + base::FormatBytes(oom.limit_bytes);
}

void AddSummaries(const v1::JobDetail& detail, TextTable* table) {
  const std::vector<job::MetricSummary> summaries = SummariesOf(detail);
  for (const job::MetricSummary& summary : summaries) {
    const job::MetricInfo* metric = job::FindMetric(summary.name);
    if (metric != nullptr && metric->section == job::MetricSection::kProfile)
      continue;  // profile.h
    const auto value = [unit = metric != nullptr ? metric->unit : ""](double number) {
      return FormatWithUnit(number, unit);
    };
    table->AddRow({summary.name, summary.rank ? std::to_string(*summary.rank) : "",
                   std::string(Name(summary.phase)), value(summary.latest), value(summary.min),
                   value(job::Average(summary, summaries)), value(summary.max),
                   WithThousands(summary.count)});
  }
}

std::string EventLines(const v1::JobDetail& detail, const TableLayout& layout) {
  constexpr int kTimeWidth = 25;
  std::string text;
  for (const v1::JobEvent& event : detail.events())
    text += LabelledLine(LocalMoment(event.time()), kTimeWidth, InLocalTime(event.text()),
                         layout.width);
  return text;
}

}  // namespace trainctl::client
