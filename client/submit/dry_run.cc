#include "client/submit/dry_run.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "client/exit_code.h"
#include "client/show/first_row.h"
#include "client/show/format.h"
#include "client/show/lease_text.h"
#include "client/submit/lab_time.h"
#include "client/submit/place.h"
#include "client/submit/prediction.h"
#include "common/base/size.h"
#include "common/job/job_json.h"

namespace trainctl::client {
namespace {

bool IsRefused(const Assessment& assessment) { return !assessment.site_problems.empty(); }

std::string WhereText(const Assessment& assessment, const Forecast& forecast) {
  if (IsRefused(assessment)) {
    const std::string& barred = assessment.barred;
    return "would be refused here: " + job::Format(assessment.site_problems, assessment.job.name) +
           (barred.empty() ? "" : "; not on " + barred);
  }
  return forecast.site_known ? PlaceText(assessment, forecast.leases)
                             : "not known without a coordinator's answer";
}

std::string JobText(const Assessment& assessment, const Forecast& forecast, bool full,
                    const TableLayout& layout) {
  std::string text = assessment.job.name + "\n" +
                     FactText("where", WhereText(assessment, forecast), layout) +
                     FactsText(assessment, layout);
  if (assessment.prediction) text += "\n" + MemoryTableText(*assessment.prediction, layout);
  if (assessment.inspection && assessment.inspection->first_row)
    text += "\n" + FirstRowText(*assessment.inspection, layout);
  if (full) text += "\nResolved job\n" + Json::parse(job::ToJson(assessment.job)).dump(2) + "\n";
  return text;
}

// What tells a job from the others: its name, or of a sweep each setting that varies.
std::vector<TextColumn> ColumnsOfNames(const Forecast& forecast) {
  if (forecast.variants.empty()) return {{.header = "NAME", .cut = true}};
  std::vector<TextColumn> columns;
  for (const job::Override& setting : forecast.variants.front())
    columns.push_back({.header = setting.key, .right = true});
  return columns;
}

std::vector<TextCell> NamesOf(const Forecast& forecast, size_t place) {
  if (forecast.variants.empty()) return {forecast.assessments[place].job.name};
  std::vector<TextCell> cells;
  for (const job::Override& setting : forecast.variants[place]) cells.emplace_back(setting.value);
  return cells;
}

// A line a job: what a lab or sweep comes to is seen at once.
std::string LabTableText(const Forecast& forecast, const TableLayout& layout) {
  std::vector<TextColumn> columns = ColumnsOfNames(forecast);
  const TextColumn predicted[] = {
      {"STEPS", true}, {"S/STEP", true}, {"PEAK", true}, {"TIME", true}, {"WHERE"}};
  columns.insert(columns.end(), std::begin(predicted), std::end(predicted));
  TextTable table(std::move(columns));
  for (size_t i = 0; i < forecast.assessments.size(); ++i) {
    const Assessment& assessment = forecast.assessments[i];
    const std::optional<job::TimeEstimate>& time = assessment.time;
    std::string where = WhereText(assessment, forecast);
    std::replace(where.begin(), where.end(), '\n', ' ');
    std::vector<TextCell> cells = NamesOf(forecast, i);
    cells.emplace_back(assessment.steps ? WithThousands(*assessment.steps) : "–");
    cells.emplace_back(time ? FormatWithUnit(time->step_seconds, "s") : "–");
    cells.emplace_back(
        assessment.prediction ? base::FormatBytes(assessment.prediction->peak_allocated) : "–");
    cells.emplace_back(time ? base::FormatDuration(std::llround(time->total_seconds)) : "–");
    cells.emplace_back(std::move(where), IsRefused(assessment) ? Style::kBad : Style::kPlain);
    table.AddRow(std::move(cells));
  }
  return table.Render(layout);
}

void ShowText(Context& context, const Forecast& forecast, const SubmitOptions& options) {
  const std::vector<Assessment>& assessments = forecast.assessments;
  const TableLayout& layout = context.surroundings.out_terminal.layout;
  Say(context, "Dry run of " + options.source + ": nothing was submitted.\n");
  const bool is_lab = assessments.size() > 1;
  if (is_lab) Say(context, "\n" + LabTableText(forecast, layout));
  for (const Assessment& assessment : assessments) {
    if (!is_lab || options.full)
      Say(context, "\n" + JobText(assessment, forecast, options.full, layout));
  }
  if (is_lab || options.within_seconds) {
    const LabTime time = PredictLab(assessments, options.max_parallel);
    Say(context, "\n" + WrapLines("All of it: " + LabText(time, options.within_seconds) + ".",
                                  layout.width));
  }
  if (!options.full)
    Say(context, is_lab ? "\n--full shows of each job its memory by kind and every setting.\n"
                        : "\n--full shows every setting.\n");
}

// A record of the job's assessment, and of a sweep's job what it differs in.
Json RecordOf(const Forecast& forecast, size_t place) {
  Json record = AssessmentJson(forecast.assessments[place]);
  if (forecast.variants.empty()) return record;
  for (const job::Override& setting : forecast.variants[place])
    record["settings"][setting.key] = setting.value;
  return record;
}

void ShowRecords(Context& context, const Forecast& forecast, const SubmitOptions& options) {
  const std::vector<Assessment>& assessments = forecast.assessments;
  Listing listing{.collection = "jobs",
                  .table = TextTable({{"NAME"}, {"BATCH"}, {"STEPS"}, {"MEMORY"}, {"REFUSED"}}),
                  .name_key = "name"};
  listing.members["dry_run"] = true;
  if (forecast.within) listing.members["lease"] = LeaseRecord(*forecast.within);
  listing.members["time"] =
      LabJson(PredictLab(assessments, options.max_parallel), options.within_seconds);
  for (size_t i = 0; i < assessments.size(); ++i) {
    const Assessment& assessment = assessments[i];
    listing.records.push_back(RecordOf(forecast, i));
    listing.table.AddRow({assessment.job.name, BatchText(assessment.batch), StepsText(assessment),
                          MemoryText(assessment),
                          job::Format(assessment.site_problems, assessment.job.name)});
  }
  Print(context, listing);
}

}  // namespace

int ShowDryRun(Context& context, const Forecast& forecast, const SubmitOptions& options) {
  const std::vector<Assessment>& assessments = forecast.assessments;
  if (context.for_people()) {
    ShowText(context, forecast, options);
  } else {
    ShowRecords(context, forecast, options);
  }
  const bool fits = !options.within_seconds ||
                    Fits(PredictLab(assessments, options.max_parallel), *options.within_seconds);
  return std::ranges::any_of(assessments, IsRefused) || !fits ? kExitWouldNotRun : kExitOk;
}

}  // namespace trainctl::client
