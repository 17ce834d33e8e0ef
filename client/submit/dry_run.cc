#include "client/submit/dry_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "client/exit_code.h"
#include "client/show/first_row.h"
#include "client/show/format.h"
#include "client/submit/lab_time.h"
#include "client/submit/prediction.h"
#include "common/base/size.h"
#include "common/job/job_json.h"

namespace trainctl::client {
namespace {

bool IsRefused(const Assessment& assessment) { return !assessment.site_problems.empty(); }

std::string WhereText(const Assessment& assessment, bool site_known) {
  if (IsRefused(assessment)) {
    return "would be refused here: " + job::Format(assessment.site_problems, assessment.job.name);
  }
  return site_known ? PlaceText(assessment) : "not known without a coordinator's answer";
}

std::string JobText(const Assessment& assessment, bool site_known, bool full,
                    const TableLayout& layout) {
  std::string text = assessment.job.name + "\n  where   " + WhereText(assessment, site_known) +
                     "\n" + FactsText(assessment);
  if (assessment.prediction) text += "\n" + MemoryTableText(*assessment.prediction, layout);
  if (assessment.inspection && assessment.inspection->first_row)
    text += "\n" + FirstRowText(*assessment.inspection);
  if (full) text += "\nResolved job\n" + Json::parse(job::ToJson(assessment.job)).dump(2) + "\n";
  return text;
}

// A line a job: what a lab comes to is seen at once.
std::string LabTableText(const std::vector<Assessment>& assessments, bool site_known,
                         const TableLayout& layout) {
  TextTable table({{.header = "NAME", .cut = true},
                   {"STEPS", true},
                   {"PEAK", true},
                   {"TIME", true},
                   {"WHERE"}});
  for (const Assessment& assessment : assessments) {
    const std::optional<job::TimeEstimate>& time = assessment.time;
    std::string where = WhereText(assessment, site_known);
    std::replace(where.begin(), where.end(), '\n', ' ');
    table.AddRow(
        {assessment.job.name,
         assessment.steps ? WithThousands(*assessment.steps) : "–",
         assessment.prediction ? base::FormatBytes(assessment.prediction->peak_allocated) : "–",
         time ? base::FormatDuration(std::llround(time->total_seconds)) : "–",
         {std::move(where), IsRefused(assessment) ? Style::kBad : Style::kPlain}});
  }
  return table.Render(layout);
}

void ShowText(Context& context, const std::vector<Assessment>& assessments, bool site_known,
              const SubmitOptions& options) {
  const TableLayout& layout = context.surroundings.out_terminal.layout;
  Say(context, "Dry run of " + options.source + ": nothing was submitted.\n");
  const bool is_lab = assessments.size() > 1;
  if (is_lab) Say(context, "\n" + LabTableText(assessments, site_known, layout));
  for (const Assessment& assessment : assessments) {
    if (!is_lab || options.full)
      Say(context, "\n" + JobText(assessment, site_known, options.full, layout));
  }
  if (is_lab || options.within_seconds) {
    Say(context,
        "\nAll of it: " +
            LabText(PredictLab(assessments, options.max_parallel), options.within_seconds) + ".\n");
  }
  if (!options.full)
    Say(context, is_lab ? "\n--full shows of each job its memory by kind and every setting.\n"
                        : "\n--full shows every setting.\n");
}

void ShowRecords(Context& context, const std::vector<Assessment>& assessments,
                 const SubmitOptions& options) {
  Listing listing{.collection = "jobs",
                  .table = TextTable({{"NAME"}, {"BATCH"}, {"STEPS"}, {"MEMORY"}, {"REFUSED"}}),
                  .name_key = "name"};
  listing.members["dry_run"] = true;
  listing.members["time"] =
      LabJson(PredictLab(assessments, options.max_parallel), options.within_seconds);
  for (const Assessment& assessment : assessments) {
    listing.records.push_back(AssessmentJson(assessment));
    listing.table.AddRow({assessment.job.name, BatchText(assessment.batch), StepsText(assessment),
                          MemoryText(assessment),
                          job::Format(assessment.site_problems, assessment.job.name)});
  }
  Print(context, listing);
}

}  // namespace

int ShowDryRun(Context& context, const std::vector<Assessment>& assessments, bool site_known,
               const SubmitOptions& options) {
  if (context.for_people()) {
    ShowText(context, assessments, site_known, options);
  } else {
    ShowRecords(context, assessments, options);
  }
  const bool fits = !options.within_seconds ||
                    Fits(PredictLab(assessments, options.max_parallel), *options.within_seconds);
  return std::ranges::any_of(assessments, IsRefused) || !fits ? kExitWouldNotRun : kExitOk;
}

}  // namespace trainctl::client
