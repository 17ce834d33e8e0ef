#include <utility>

#include "client/exit_code.h"
#include "client/naming.h"
#include "client/new_file.h"
#include "client/page_file.h"
#include "client/plot/read_curves.h"
#include "client/report/run_report.h"
#include "client/show/calendar_time.h"
#include "client/show/comparison.h"
#include "client/show/decoded.h"
#include "client/show/format.h"
#include "client/show/metric_names.h"
#include "client/verbs/verb.h"

namespace trainctl::client {
namespace {

constexpr std::string_view kDrawn = "loss,val_loss";
// Of a metric that each rank has: of a job alone as many ranks, of several jobs one rank each.
constexpr size_t kMostRanks = 8;

class ReportVerb : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positional("JOB", &job_, "id or name of a job or group");
    arguments.Text("-o,--output", "FILE", &file_, "a file that ends in .html, .md or .pdf");
    arguments.Text("--metric", "NAME,…", &metric_, "what the curves are of; else loss,val_loss");
    arguments.Switch("--overwrite", &overwrite_, "replace FILE");
    arguments.Remark(
        "One file to hand in, readable without the site: question, changes, outcomes, comparison, "
        "curves, memory,\n"
        "environment, and how to run it again. The question is what \"notes\" of the job file "
        "says, or \"title\" of the lab file.\n"
        "Of a --metric of ranks a job alone has all up to eight, else the one with the highest "
        "value.\n"
        "A PDF is printed by a Chromium on the path.");
  }

  int Run(Context& context) override {
    if (const base::Status usable = CheckFile(); !usable.ok()) return Fail(context, usable.error());
    const base::Result<std::vector<job::Metric>> metrics =
        ParseMetricNames(metric_.empty() ? std::string(kDrawn) : metric_);
    if (!metrics.ok()) return Fail(context, metrics.error());
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    const base::Result<RunFacts> facts = Gather(context, **api, *metrics);
    if (!facts.ok()) return Fail(context, facts.error());
    const Report report = ReportOn(*facts);
    const base::Status written =
        IsMarkdown() ? WriteNewFile(file_, MarkdownOf(report), overwrite_)
                     : WritePage(context.surroundings, HtmlOf(report), file_, overwrite_);
    if (!written.ok()) return Fail(context, written.error());
    Say(context, "Wrote " + file_ + ": " + report.title + ".\n");
    for (const v1::JobDetail& detail : facts->jobs.jobs()) {
      if (!HasEnded(detail.view()))
        Warn(context, detail.view().name() + " goes on: this is what was known of it now");
    }
    return kExitOk;
  }

 private:
  bool IsMarkdown() const { return file_.ends_with(".md"); }

  base::Status CheckFile() const {
    if (file_.empty() || (!IsMarkdown() && !file_.ends_with(".html") && !file_.ends_with(".pdf"))) {
      return base::Error{base::Code::kInvalid,
                         "-o " + (file_.empty() ? "is missing" : file_) +
                             ": expected a file that ends in .html, .md or .pdf"};
    }
    return CheckNewFile(file_, overwrite_);
  }

  base::Result<RunFacts> Gather(Context& context, Api& api,
                                const std::vector<job::Metric>& metrics) const {
    base::Result<v1::GetResponse> jobs = GetJobs(context, NewestMeant(context, job_));
    if (!jobs.ok()) return jobs.error();
    v1::CompareRequest request;
    for (const v1::JobDetail& detail : jobs->jobs()) request.add_jobs(detail.view().id());
    base::Result<v1::CompareResponse> comparison = api.Compare(request);
    if (!comparison.ok()) return comparison.error();
    if (const base::Status whole = CheckWhole(*comparison); !whole.ok()) return whole.error();
    RunFacts facts{.jobs = std::move(*jobs),
                   .comparison = std::move(*comparison),
                   .origin = LocalMoment(context.clock().Wall()) + ", from " + context.server};
    for (const job::Metric metric : metrics) {
      base::Result<Plot> plot = Draw(api, facts.jobs, metric);
      if (!plot.ok()) return plot.error();
      if (!plot->curves.empty()) {
        facts.plots.push_back(std::move(*plot));
      } else if (!metric_.empty()) {
        Warn(context, "there are no points of " + plot->title);
      }
    }
    return facts;
  }

  static base::Result<Plot> Draw(Api& api, const v1::GetResponse& jobs, job::Metric metric) {
    Plot plot{.title = TitleOf({metric}), .unit = std::string(job::Info(metric).unit)};
    const size_t most_ranks = jobs.jobs_size() > 1 ? 1 : kMostRanks;
    for (const v1::JobDetail& detail : jobs.jobs()) {
      base::Result<std::vector<Curve>> curves =
          ReadCurves(api, detail.view(), {.metrics = {metric}, .most_ranks = most_ranks});
      if (!curves.ok()) return curves.error();
      for (Curve& curve : *curves) plot.curves.push_back(std::move(curve));
    }
    return plot;
  }

  std::string job_, file_, metric_;
  bool overwrite_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeReport() { return std::make_unique<ReportVerb>(); }

}  // namespace trainctl::client
