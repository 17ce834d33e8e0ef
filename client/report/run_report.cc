#include "client/report/run_report.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "client/files/run_again.h"
#include "client/show/calendar_time.h"
#include "client/show/comparison.h"
#include "client/show/continuations.h"
#include "client/show/foresight.h"
#include "client/show/format.h"
#include "client/show/job_listing.h"
#include "client/show/job_text.h"
#include "common/estimate/memory_estimate.h"
#include "common/estimate/prediction.h"
#include "common/job/job_json.h"
#include "common/job/question.h"

namespace trainctl::client {
namespace {

constexpr std::string_view kChanged = "changed";

ReportSection Question(const v1::GetResponse& jobs) {
  std::vector<job::JobSpec> known;
  std::vector<const job::JobSpec*> specs;
  known.reserve(static_cast<size_t>(jobs.jobs_size()));
  for (const v1::JobDetail& detail : jobs.jobs()) {
    base::Result<job::JobSpec> job = job::FromJson(detail.job_json());
    known.push_back(job.ok() ? std::move(*job) : job::JobSpec());
    specs.push_back(&known.back());
  }
  ReportSection section{.title = "Question"};
  for (std::string& text : job::QuestionsOf(specs))
    section.parts.emplace_back(Paragraph{std::move(text)});
  return section;
}

// The rows of that section, or all others.
v1::CompareResponse RowsOf(const v1::CompareResponse& comparison, bool changed) {
  v1::CompareResponse rows;
  *rows.mutable_jobs() = comparison.jobs();
  *rows.mutable_warnings() = comparison.warnings();
  *rows.mutable_warning_sections() = comparison.warning_sections();
  for (const v1::CompareRow& row : comparison.rows()) {
    if ((row.section() == kChanged) == changed) *rows.add_rows() = row;
  }
  return rows;
}

ReportSection Changes(const v1::CompareResponse& comparison) {
  ReportSection section{.title = "What was changed"};
  const v1::CompareResponse changed = RowsOf(comparison, true);
  if (!changed.rows().empty()) section.parts.emplace_back(ComparisonTable(changed));
  if (!comparison.same().empty())
    section.parts.emplace_back(Paragraph{"Same: " + Join(comparison.same(), ", ") + "."});
  return section;
}

ReportSection Outcomes(const v1::GetResponse& jobs) {
  TextTable table({{"Run"}, {"Outcome"}, {"Steps"}, {"Took", true}, {"Why"}});
  for (const v1::JobDetail& detail : jobs.jobs()) {
    const v1::JobView& view = detail.view();
    std::string outcome = view.outcome().empty() ? view.state() : view.outcome();
    if (view.has_as_expected())
      outcome += view.as_expected() ? ", as expected" : ", not as expected";
    std::string why = InLocalTime(view.outcome().empty() ? view.reason() : view.message());
    if (!detail.attempts().empty()) {
      const v1::AttemptView& last = *detail.attempts().rbegin();
      if (const auto oom = OomOf(last)) why += (why.empty() ? "" : "; ") + OomText(*oom);
    }
    const double seconds =
        view.ended_at() > view.started_at() ? ElapsedSeconds(view, view.ended_at()) : 0;
    table.AddRow({NameWithId(view.name(), view.id()),
                  {std::move(outcome), OutcomeStyle(view)},
                  StepsText(view),
                  seconds > 0 ? FormatClock(seconds) : "–",
                  std::move(why)});
  }
  return {.title = "Outcomes", .parts = {table}};
}

ReportSection Comparison(const v1::CompareResponse& comparison) {
  ReportSection section{.title = "Measured"};
  section.parts.emplace_back(ComparisonTable(WithoutTexts(RowsOf(comparison, false))));
  for (const std::string& note : NotesOf(comparison)) section.parts.emplace_back(Paragraph{note});
  return section;
}

// Whose lines a table would not keep.
ReportSection Texts(const v1::CompareResponse& comparison) {
  ReportSection section{.title = "Texts"};
  for (const ComparedPrompt& prompt : PromptsOf(comparison)) {
    section.parts.emplace_back(Paragraph{"Prompt"});
    section.parts.emplace_back(Verbatim{prompt.prompt});
    for (const ComparedText& said : prompt.texts) {
      section.parts.emplace_back(Paragraph{said.of});
      section.parts.emplace_back(Verbatim{said.text});
    }
  }
  return section;
}

ReportSection Foresight(const v1::GetResponse& jobs) {
  ReportSection section{.title = "Memory and time, predicted and measured"};
  for (const v1::JobDetail& detail : jobs.jobs()) {
    const base::Result<job::Prediction> prediction =
        job::PredictionFromJson(detail.prediction_json());
    if (!prediction.ok()) continue;
    TextTable table = ForesightTable(*prediction, detail);
    if (table.empty()) continue;
    section.parts.emplace_back(Paragraph{NameWithId(detail.view().name(), detail.view().id())});
    section.parts.emplace_back(std::move(table));
  }
  return section;
}

std::string Distinct(const std::multiset<std::string>& values) {
  std::vector<std::string> texts;
  for (auto at = values.begin(); at != values.end(); at = values.upper_bound(*at)) {
    if (at->empty()) continue;
    const size_t count = values.count(*at);
    texts.push_back((count > 1 ? std::to_string(count) + " × " : "") + *at);
  }
  return Join(texts, ", ");
}

std::string Once(const v1::AttemptView& attempt,
                 const std::string& (v1::RankView::*value)() const) {
  std::set<std::string> values;
  for (const v1::RankView& rank : attempt.ranks()) {
    if (!(rank.*value)().empty()) values.insert((rank.*value)());
  }
  return Join(values, ", ");
}

std::string RevisionOf(const v1::JobDetail& detail) {
  const auto inspection = job::InspectionFromJson(detail.inspection_json());
  return inspection.ok() ? inspection->model_revision : "";
}

// With the models' revisions where some are of the hub.
ReportSection Environment(const v1::GetResponse& jobs) {
  ReportSection section{.title = "Environment"};
  const bool has_revisions = std::ranges::any_of(
      jobs.jobs(), [](const v1::JobDetail& detail) { return !RevisionOf(detail).empty(); });
  std::vector<TextColumn> columns = {{"Run"},      {"Hosts"}, {"Devices"}, {"Driver"},
                                     {"LibTorch"}, {"NCCL"},  {"trainctl"}};
  if (has_revisions) columns.push_back({"Model revision"});
  TextTable table(std::move(columns));
  for (const v1::JobDetail& detail : jobs.jobs()) {
    if (detail.attempts().empty()) continue;
    const v1::AttemptView& last = *detail.attempts().rbegin();
    std::multiset<std::string> devices;
    for (const v1::RankView& rank : last.ranks()) devices.insert(rank.device_name());
    std::vector<TextCell> cells = {NameWithId(detail.view().name(), detail.view().id()),
                                   Once(last, &v1::RankView::host),
                                   Distinct(devices),
                                   Once(last, &v1::RankView::driver),
                                   Once(last, &v1::RankView::libtorch),
                                   Once(last, &v1::RankView::nccl),
                                   Once(last, &v1::RankView::commit)};
    if (has_revisions) cells.emplace_back(RevisionOf(detail));
    table.AddRow(std::move(cells));
  }
  if (!table.empty()) section.parts.emplace_back(std::move(table));
  return section;
}

ReportSection Again(const v1::GetResponse& jobs) {
  const std::string file = jobs.jobs_size() > 1 ? "lab.json" : "job.json";
  return {.title = "To run it again",
          .parts = {Verbatim{RunAgainCommand(file, jobs)},
                    Paragraph{"where " + file +
                              " is this; its paths are paths on the hosts that it ran on, and a "
                              "DIR is a new one:"},
                    Verbatim{RunAgainFile(jobs)}}};
}

ReportSection Origin(const std::string& program, const std::string& origin) {
  return {.title = "Origin", .parts = {Paragraph{"Made by " + program + ", " + origin + "."}}};
}

}  // namespace

Report ReportOn(const RunFacts& facts) {
  const v1::GetResponse& jobs = facts.jobs;
  Report report{.title = GroupOrJobText(jobs)};
  ReportSection curves{.title = "Curves"};
  for (const Plot& plot : facts.plots) curves.parts.emplace_back(plot);
  report.sections = {Question(jobs),
                     Changes(facts.comparison),
                     Outcomes(jobs),
                     Comparison(facts.comparison),
                     std::move(curves),
                     Foresight(jobs),
                     Texts(facts.comparison),
                     Environment(jobs),
                     Again(jobs),
                     Origin("trainctl report", facts.origin)};
  return report;
}

Report ReportOn(const v1::CompareResponse& comparison, const std::string& origin) {
  std::vector<std::string> names;
  for (const v1::ComparedJob& job : comparison.jobs())
    names.push_back(job.name() + " (" + job.id() + ")");
  return {.title = Join(names, ", "),
          .sections = {Changes(comparison), Comparison(comparison), Texts(comparison),
                       Origin("trainctl compare", origin)}};
}

}  // namespace trainctl::client
