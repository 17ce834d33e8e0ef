#include <utility>

#include "client/exit_code.h"
#include "client/naming.h"
#include "client/show/attempt_text.h"
#include "client/show/auto_micro_batch.h"
#include "client/show/calendar_time.h"
#include "client/show/continuations.h"
#include "client/show/first_row.h"
#include "client/show/foresight.h"
#include "client/show/format.h"
#include "client/show/job_listing.h"
#include "client/show/job_report.h"
#include "client/show/job_text.h"
#include "client/show/profile.h"
#include "client/show/site_time.h"
#include "client/submit/prediction.h"
#include "client/verbs/verb.h"
#include "common/base/parse_number.h"
#include "common/estimate/prediction.h"
#include "common/job/job.h"
#include "common/job/job_json.h"
#include "common/record/detail_record.h"

namespace trainctl::client {
namespace {

std::string Line(const std::string& label, const std::string& text, const TableLayout& layout) {
  constexpr int kLabelWidth = 11;
  return text.empty() ? "" : LabelledLine(label, kLabelWidth, text, layout.width);
}

std::string StateText(const v1::JobView& view) {
  std::string text = view.state();
  if (!view.outcome().empty()) text += ", " + view.outcome();
  if (view.has_as_expected()) text += view.as_expected() ? " as expected" : " not as expected";
  return text;
}

std::string OverviewText(const v1::JobDetail& detail, int64_t now, const TableLayout& layout) {
  const v1::JobView& view = detail.view();
  std::string text = NameWithId(view.name(), view.id()) + "\n";
  const auto add = [&](const char* label, const std::string& fact) {
    text += Line(label, fact, layout);
  };
  add("state", StateText(view));
  add("why", InLocalTime(view.reason()));
  add("starts", PredictedStartText(view));
  add("message", InLocalTime(view.message()));
  add("group", GroupText(view));
  add("owner", view.owner());
  add("where", PlacementText(view));
  add("steps", StepsText(view));
  add("micro", AutoMicroBatchText(detail));
  add("submitted", TimeText(view.submitted_at()));
  add("started", TimeText(view.started_at()));
  add("ended", TimeText(view.ended_at()));
  add("took", view.started_at() == 0 ? "" : FormatClock(ElapsedSeconds(view, now)));
  return text;
}

std::string SettingsText(const v1::JobDetail& detail, const TableLayout& layout) {
  const base::Result<job::JobSpec> job = job::FromJson(detail.job_json());
  if (!job.ok()) return "\nSettings: can't be read: " + job.error().message + "\n";
  TextTable table({{"SETTING"}, {"VALUE"}});
  for (const auto& [key, value] : SettingsOf(detail)) table.AddRow({key, value});
  return "\n" + table.Render(layout);
}

std::string AttemptAndRanks(const v1::AttemptView& attempt, const TableLayout& layout) {
  std::string text = "\n" + AttemptText(attempt, layout);
  TextTable ranks({{"  RANK", true},
                   {.header = "WORKER", .cut = true},
                   {.header = "DEVICE", .cut = true},
                   {"PHASE"},
                   {"STEP", true},
                   {.header = "PID", .right = true, .goes = 4},
                   {.header = "LIBTORCH", .goes = 1},
                   {.header = "NCCL", .goes = 2},
                   {.header = "COMMIT", .goes = 3}});
  for (const v1::RankView& rank : attempt.ranks()) {
    ranks.AddRow({std::to_string(rank.rank()), rank.worker(), rank.device_name(),
                  PhaseText(attempt, rank), WithThousands(rank.step()),
                  rank.pid() > 0 ? std::to_string(rank.pid()) : "", rank.libtorch(), rank.nccl(),
                  rank.commit()});
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
                   {.header = "MEAN", .right = true, .goes = 1},
                   {"MAX", true},
                   {.header = "POINTS", .right = true, .goes = 2}});
  AddSummaries(detail, &table);
  return "\n" + table.Render(layout);
}

std::string EventsText(const v1::JobDetail& detail, const TableLayout& layout) {
  return detail.events().empty() ? "" : "\nEvents\n" + EventLines(detail, layout);
}

std::string PredictionText(const job::Prediction& prediction, const v1::JobDetail& detail,
                           const TableLayout& layout) {
  std::string text = "\n" + MemoryTableText(prediction.memory, layout);
  if (const std::string gradients = GradientsText(prediction.memory); !gradients.empty())
    text += "Gradients: " + gradients + "\n";
  if (prediction.time) text += WrapLines("Time: " + job::TimeText(*prediction.time), layout.width);
  const std::string foresight = ForesightText(prediction, detail, layout);
  return text + (foresight.empty() ? "" : "\n" + foresight);
}

// What the inspection found of model and data.
std::string InspectionText(const v1::JobDetail& detail, const TableLayout& layout) {
  const base::Result<job::Inspection> inspection =
      job::InspectionFromJson(detail.inspection_json());
  if (!inspection.ok()) return "";
  const std::string& revision = inspection->model_revision;
  const std::string text = (revision.empty() ? "" : "Model revision: " + revision + "\n") +
                           FirstRowText(*inspection, layout);
  return text.empty() ? "" : "\n" + text;
}

std::string DetailText(const v1::JobDetail& detail, int64_t now, const TableLayout& layout) {
  std::string text = OverviewText(detail, now, layout) + SettingsText(detail, layout) +
                     InspectionText(detail, layout);
  const base::Result<job::Prediction> prediction =
      job::PredictionFromJson(detail.prediction_json());
  if (prediction.ok()) text += PredictionText(*prediction, detail, layout);
  for (const v1::AttemptView& attempt : detail.attempts()) text += AttemptAndRanks(attempt, layout);
  return text + ProfileText(detail, layout) + ContinuationsText(detail, layout) +
         SummariesText(detail, layout) + EventsText(detail, layout);
}

class Describe : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positional("JOB", &job_, "id or name of a job or group");
    arguments.Text(
        "--texts", "all|STEP", &texts_,
        "what the model made of eval.prompts in every evaluation that is kept, or in the "
        "one at this step; else in the first and the last");
    arguments.Remark("Of a job's evaluations the texts of the first and of the newest " +
                     std::to_string(job::kNewestTextsKept) + " are kept.");
  }

  int Run(Context& context) override {
    v1::GetRequest request;
    if (const base::Status usable = AskForTexts(&request); !usable.ok())
      return Fail(context, usable.error());
    request.set_job(NewestMeant(context, job_));
    const base::Result<v1::GetResponse> response = GetJobs(context, request);
    if (!response.ok()) return Fail(context, response.error());
    if (const base::Status told = CheckTexts(request, *response); !told.ok())
      return Fail(context, told.error());
    if (context.for_people()) {
      for (const v1::JobDetail& detail : response->jobs()) {
        if (&detail != &response->jobs(0)) context.out << "\n";
        context.out << DetailText(detail, SiteTime(detail.view(), context.clock()),
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
  base::Status AskForTexts(v1::GetRequest* request) const {
    if (texts_.empty()) return base::Ok{};
    if (texts_ == "all") {
      request->set_all_texts(true);
      return base::Ok{};
    }
    const std::optional<int64_t> step = base::ParseNumber(texts_);
    if (!step)
      return base::Error{base::Code::kInvalid, "--texts " + texts_ + ": expected all or a step"};
    request->set_texts_of_step(*step);
    return base::Ok{};
  }

  // Of a group one job that has them will do.
  base::Status CheckTexts(const v1::GetRequest& request, const v1::GetResponse& response) const {
    if (!request.has_texts_of_step()) return base::Ok{};
    std::vector<std::string> kept;
    for (const v1::JobDetail& detail : response.jobs()) {
      if (detail.continuations_size() > 0) return base::Ok{};
      const std::string steps = TextStepsText(detail);
      if (!steps.empty())
        kept.push_back(NameWithId(detail.view().name(), detail.view().id()) + ": " + steps);
    }
    return base::Error{base::Code::kNotFound,
                       "no texts of step " + texts_ + " are kept" +
                           (kept.empty() ? ", nor of any other step"
                                         : "; they are of these steps: " + Join(kept, "; "))};
  }

  static Listing ListDetails(const Context& context, const v1::GetResponse& response) {
    std::vector<v1::JobView> views;
    for (const v1::JobDetail& detail : response.jobs()) views.push_back(detail.view());
    Listing listing = ListJobs(views, SiteTime(views, context.clock()));
    listing.records.clear();
    for (const v1::JobDetail& detail : response.jobs())
      listing.records.push_back(record::DetailRecord(detail));
    if (!response.group().empty())
      listing.members = {{"group", response.group()}, {"group_name", response.group_name()}};
    return listing;
  }

  std::string job_, texts_;
};

}  // namespace

std::unique_ptr<Verb> MakeDescribe() { return std::make_unique<Describe>(); }

}  // namespace trainctl::client
