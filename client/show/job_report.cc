#include "client/show/job_report.h"

#include "client/show/attempt_text.h"
#include "client/show/auto_micro_batch.h"
#include "client/show/calendar_time.h"
#include "client/show/decoded.h"
#include "client/show/foresight.h"
#include "client/show/format.h"
#include "client/show/job_listing.h"
#include "client/show/job_text.h"
#include "client/show/profile.h"
#include "client/show/text_table.h"
#include "common/base/one_line.h"
#include "common/base/size.h"
#include "common/estimate/prediction.h"
#include "common/record/memory_record.h"

namespace trainctl::client {
namespace {

std::string StateText(const v1::JobView& view) {
  std::string text = view.outcome().empty() ? view.state() : view.outcome();
  if (view.has_as_expected()) text += view.as_expected() ? " (as expected)" : " (not as expected)";
  return text;
}

std::string OverviewText(const v1::JobDetail& detail) {
  const v1::JobView& view = detail.view();
  TextTable table({{"What"}, {"Value"}});
  const auto add = [&table](const char* what, const std::string& value) {
    if (!value.empty()) table.AddRow({what, value});
  };
  add("outcome", StateText(view));
  add("message", InLocalTime(view.message()));
  add("group", GroupText(view));
  add("owner", view.owner());
  add("where", PlacementText(view));
  add("steps", StepsText(view));
  add("micro batch", AutoMicroBatchText(detail));
  add("submitted", TimeText(view.submitted_at()));
  add("started", TimeText(view.started_at()));
  add("ended", TimeText(view.ended_at()));
  return table.Markdown();
}

std::string SettingsText(const v1::JobDetail& detail) {
  TextTable table({{"Setting"}, {"Value"}});
  for (const auto& [key, value] : SettingsOf(detail)) table.AddRow({key, value});
  return table.empty() ? "" : "\n## Settings\n\n" + table.Markdown();
}

std::string CauseText(const v1::AttemptView& attempt) {
  std::vector<std::string> causes = Causes(attempt);
  if (const auto oom = OomOf(attempt)) causes.push_back(OomText(*oom));
  return Join(causes, ", ");
}

std::string AttemptsText(const v1::JobDetail& detail) {
  std::string text;
  for (const v1::AttemptView& attempt : detail.attempts()) {
    const std::string failed_trial = FailedTrialText(attempt);
    const std::string end = attempt.outcome().empty() ? "not ended"
                            : failed_trial.empty()    ? attempt.outcome()
                                                      : failed_trial;
    text += "\n## Attempt " + std::to_string(attempt.attempt()) + ": " + end + "\n\n";
    if (!attempt.message().empty()) text += InLocalTime(attempt.message()) + "\n\n";
    if (const std::string cause = CauseText(attempt); !cause.empty())
      text += "Cause: " + cause + ".\n\n";
    TextTable ranks({{"Rank", true},
                     {"Worker"},
                     {"Device"},
                     {"Phase"},
                     {"Step", true},
                     {"Driver"},
                     {"LibTorch"},
                     {"NCCL"},
                     {"Commit"}});
    for (const v1::RankView& rank : attempt.ranks()) {
      ranks.AddRow({std::to_string(rank.rank()), rank.worker(), rank.device_name(),
                    PhaseText(attempt, rank), WithThousands(rank.step()), rank.driver(),
                    rank.libtorch(), rank.nccl(), rank.commit()});
    }
    text += ranks.Markdown();
    if (!attempt.last_log_lines().empty() && !Succeeded(attempt)) {
      text += "\nLast log lines:\n\n````\n" + attempt.last_log_lines() + "\n````\n";
    }
  }
  return text;
}

std::string BytesText(const std::optional<int64_t>& bytes) {
  return bytes ? base::FormatBytes(*bytes) : "–";
}

// The whole of it: peak, time.
std::string ForesightSection(const v1::JobDetail& detail) {
  const base::Result<job::Prediction> prediction =
      job::PredictionFromJson(detail.prediction_json());
  if (!prediction.ok()) return "";
  const TextTable table = ForesightTable(*prediction, detail);
  return table.empty() ? "" : "\n## Predicted and measured\n\n" + table.Markdown();
}

std::string MemoryText(const v1::JobDetail& detail) {
  TextTable table({{"Memory"},
                   {"Phase"},
                   {"Predicted", true},
                   {"Measured", true},
                   {"Error of the prediction", true}});
  for (const record::MemoryRow& row : record::MemoryRows(detail)) {
    const Json error = record::MemoryRecord(row)["error"];
    table.AddRow({std::string(row.kind->name), std::string(Name(row.phase)),
                  BytesText(row.predicted), BytesText(row.measured),
                  error.is_null() ? "–" : FormatDelta(error.get<double>())});
  }
  if (table.empty()) return "";
  return ForesightSection(detail) +
         "\n## Memory, predicted and measured\n\nOf one rank; measured is the most that any rank "
         "had.\n\n" +
         table.Markdown();
}

std::string SummariesText(const v1::JobDetail& detail) {
  TextTable table({{"Metric"},
                   {"Rank", true},
                   {"Phase"},
                   {"Latest", true},
                   {"Min", true},
                   {"Mean", true},
                   {"Max", true},
                   {"Points", true}});
  AddSummaries(detail, &table);
  return table.empty() ? "" : "\n## Metrics\n\n" + table.Markdown();
}

std::string TextsText(const v1::JobDetail& detail) {
  TextTable table({{"Prompt"}, {"Step", true}, {"Text"}});
  for (const v1::Continuation& said : detail.continuations())
    table.AddRow(
        {base::OnOneLine(said.prompt()), WithThousands(said.step()), base::OnOneLine(said.text())});
  return table.empty() ? "" : "\n## Texts\n\n" + table.Markdown();
}

std::string EventsText(const v1::JobDetail& detail) {
  if (detail.events().empty()) return "";
  TextTable table({{"Time"}, {"Event"}});
  for (const v1::JobEvent& event : detail.events())
    table.AddRow({LocalMoment(event.time()), InLocalTime(event.text())});
  return "\n## Events\n\n" + table.Markdown();
}

}  // namespace

std::string JobReport(const v1::JobDetail& detail) {
  return "# " + NameWithId(detail.view().name(), detail.view().id()) + "\n\n" +
         OverviewText(detail) + SettingsText(detail) + AttemptsText(detail) + MemoryText(detail) +
         ProfileMarkdown(detail) + TextsText(detail) + SummariesText(detail) + EventsText(detail);
}

}  // namespace trainctl::client
