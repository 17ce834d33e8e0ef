#include <utility>

#include "client/exit_code.h"
#include "client/naming.h"
#include "client/show/attempt_text.h"
#include "client/show/auto_micro_batch.h"
#include "client/show/continuations.h"
#include "client/show/first_row.h"
#include "client/show/foresight.h"
#include "client/show/format.h"
#include "client/show/job_listing.h"
#include "client/show/job_report.h"
#include "client/show/job_text.h"
#include "client/show/profile.h"
#include "client/submit/prediction.h"
#include "client/verbs/verb.h"
#include "common/estimate/prediction.h"
#include "common/job/job_json.h"
#include "common/record/detail_record.h"

namespace trainctl::client {
namespace {

std::string Line(const std::string& label, const std::string& text) {
  return text.empty() ? ""
                      : "  " + label + std::string(label.size() < 11 ? 11 - label.size() : 1, ' ') +
                            text + "\n";
}

std::string StateText(const v1::JobView& view) {
  std::string text = view.state();
  if (!view.outcome().empty()) text += ", " + view.outcome();
  if (view.has_as_expected()) text += view.as_expected() ? " as expected" : " not as expected";
  return text;
}

std::string OverviewText(const v1::JobDetail& detail, int64_t now) {
  const v1::JobView& view = detail.view();
  return NameWithId(view.name(), view.id()) + "\n" + Line("state", StateText(view)) +
         Line("why", view.reason()) + Line("starts", PredictedStartText(view)) +
         Line("message", view.message()) + Line("group", GroupText(view)) +
         Line("owner", view.owner()) + Line("where", PlacementText(view)) +
         Line("steps", StepsText(view)) + Line("micro", AutoMicroBatchText(detail)) +
         Line("submitted", TimeText(view.submitted_at())) +
         Line("started", TimeText(view.started_at())) + Line("ended", TimeText(view.ended_at())) +
         Line("took", view.started_at() == 0 ? "" : FormatClock(ElapsedSeconds(view, now)));
}

std::string SettingsText(const v1::JobDetail& detail, const TableLayout& layout) {
  const base::Result<job::JobSpec> job = job::FromJson(detail.job_json());
  if (!job.ok()) return "\nSettings: can't be read: " + job.error().message + "\n";
  TextTable table({{"SETTING"}, {"VALUE"}});
  for (const auto& [key, value] : SettingsOf(detail)) table.AddRow({key, value});
  return "\n" + table.Render(layout);
}

std::string AttemptText(const v1::AttemptView& attempt, const TableLayout& layout) {
  std::string text =
      "\nAttempt " + std::to_string(attempt.attempt()) + ": " + AttemptEndText(attempt) + "\n";
  if (const auto oom = OomOf(attempt)) text += OomLine(*oom);
  TextTable ranks({{"  RANK", true},
                   {.header = "WORKER", .cut = true},
                   {.header = "DEVICE", .cut = true},
                   {"PHASE"},
                   {"STEP", true},
                   {"PID", true},
                   {"LIBTORCH"},
                   {"NCCL"},
                   {"COMMIT"}});
  for (const v1::RankView& rank : attempt.ranks()) {
    ranks.AddRow({std::to_string(rank.rank()), rank.worker(), rank.device_name(), rank.phase(),
                  WithThousands(rank.step()), rank.pid() > 0 ? std::to_string(rank.pid()) : "",
                  rank.libtorch(), rank.nccl(), rank.commit()});
  }
  if (!ranks.empty()) text += ranks.Render(layout);
  return text + LastLinesText(attempt);
}

std::string SummariesText(const v1::JobDetail& detail, const TableLayout& layout) {
  if (detail.summaries().empty()) return "";
  TextTable table({{.header = "METRIC", .cut = true},
                   {"RANK", true},
                   {"PHASE"},
                   {"LATEST", true},
                   {"MIN", true},
                   {"MEAN", true},
                   {"MAX", true},
                   {"POINTS", true}});
  AddSummaries(detail, &table);
  return "\n" + table.Render(layout);
}

std::string EventsText(const v1::JobDetail& detail) {
  if (detail.events().empty()) return "";
  std::string text = "\nEvents\n";
  for (const v1::JobEvent& event : detail.events())
    text += "  " + FormatTime(event.time()) + "  " + event.text() + "\n";
  return text;
}

std::string PredictionText(const job::Prediction& prediction, const v1::JobDetail& detail,
                           const TableLayout& layout) {
  std::string text = "\n" + MemoryTableText(prediction.memory, layout);
  if (const std::string gradients = GradientsText(prediction.memory); !gradients.empty())
    text += "Gradients: " + gradients + "\n";
  if (prediction.time) text += "Time: " + job::TimeText(*prediction.time) + "\n";
  const std::string foresight = ForesightText(prediction, detail, layout);
  return text + (foresight.empty() ? "" : "\n" + foresight);
}

// What the inspection found of model and data.
std::string InspectionText(const v1::JobDetail& detail) {
  const base::Result<job::Inspection> inspection =
      job::InspectionFromJson(detail.inspection_json());
  if (!inspection.ok()) return "";
  const std::string& revision = inspection->model_revision;
  const std::string text =
      (revision.empty() ? "" : "Model revision: " + revision + "\n") + FirstRowText(*inspection);
  return text.empty() ? "" : "\n" + text;
}

std::string DetailText(const v1::JobDetail& detail, int64_t now, const TableLayout& layout) {
  std::string text =
      OverviewText(detail, now) + SettingsText(detail, layout) + InspectionText(detail);
  const base::Result<job::Prediction> prediction =
      job::PredictionFromJson(detail.prediction_json());
  if (prediction.ok()) text += PredictionText(*prediction, detail, layout);
  for (const v1::AttemptView& attempt : detail.attempts()) text += AttemptText(attempt, layout);
  return text + ProfileText(detail, layout) + ContinuationsText(detail, layout) +
         SummariesText(detail, layout) + EventsText(detail);
}

class Describe : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positional("JOB", &job_, "id or name of a job or group");
  }

  int Run(Context& context) override {
    const base::Result<v1::GetResponse> response = GetJobs(context, NewestMeant(context, job_));
    if (!response.ok()) return Fail(context, response.error());
    if (context.for_people()) {
      for (const v1::JobDetail& detail : response->jobs()) {
        if (&detail != &response->jobs(0)) context.out << "\n";
        context.out << DetailText(detail, context.clock().Wall(),
                                  context.surroundings.out_terminal.layout);
      }
      context.out << std::flush;
      return kExitOk;
    }
    if (context.format == OutputFormat::kMarkdown) {
      for (const v1::JobDetail& detail : response->jobs())
        context.out << (&detail == &response->jobs(0) ? "" : "\n") << JobReport(detail);
      context.out << std::flush;
      return kExitOk;
    }
    return Print(context, ListDetails(context, *response));
  }

 private:
  static Listing ListDetails(const Context& context, const v1::GetResponse& response) {
    std::vector<v1::JobView> views;
    for (const v1::JobDetail& detail : response.jobs()) views.push_back(detail.view());
    Listing listing = ListJobs(views, context.clock().Wall());
    listing.records.clear();
    for (const v1::JobDetail& detail : response.jobs())
      listing.records.push_back(record::DetailRecord(detail));
    if (!response.group().empty())
      listing.members = {{"group", response.group()}, {"group_name", response.group_name()}};
    return listing;
  }

  std::string job_;
};

}  // namespace

std::unique_ptr<Verb> MakeDescribe() { return std::make_unique<Describe>(); }

}  // namespace trainctl::client
