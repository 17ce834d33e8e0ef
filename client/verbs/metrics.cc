#include "client/exit_code.h"
#include "client/naming.h"
#include "client/show/decoded.h"
#include "client/show/format.h"
#include "client/show/job_text.h"
#include "client/show/metric_names.h"
#include "client/verbs/verb.h"
#include "common/rank/metric.h"
#include "common/record/point_record.h"

namespace trainctl::client {
namespace {

std::vector<TextCell> PointRow(const v1::MetricPoint& point) {
  const job::MetricInfo* metric = job::FindMetric(point.name());
  return {point.name(), WithThousands(point.step()),
          point.has_rank() ? std::to_string(point.rank()) : "", point.phase(),
          FormatWithUnit(point.value(), metric != nullptr ? metric->unit : "")};
}

class Metrics : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positional("JOB", &job_, "id or name of a job");
    arguments.Text("--name,--metric", "NAME,…", &names_, "only these metrics");
    arguments.Number("--rank", "N", &rank_, "only this rank's own points");
    arguments.Remark(
        "Without -o each point is a line of JSON: {\"name\", \"step\", \"rank\", \"value\", "
        "\"time\"}; rank is null for the whole gang,\n"
        "time is in seconds since the epoch, and points of memory have their \"phase\". "
        "Steps count from 0.\n"
        "Of gpu_…, host_… and rank_…, which are sampled, a step keeps the last; "
        "describe's minimum, mean and maximum are of all samples.");
  }

  int Run(Context& context) override {
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    base::Result<v1::MetricsRequest> request = Request();
    if (!request.ok()) return Fail(context, request.error());
    request->set_job(NewestMeant(context, job_));
    const bool lines = !context.format_given || context.format == OutputFormat::kJsonl;
    const base::Result<int64_t> points =
        lines ? StreamLines(context, **api, *request) : PrintAll(context, **api, *request);
    if (!points.ok()) return Fail(context, points.error());
    return *points > 0 ? kExitOk : TellWhyNone(context, request->job());
  }

 private:
  // No output at all is taken for a fault of the run.
  int TellWhyNone(Context& context, const std::string& job) const {
    const base::Result<v1::GetResponse> response = GetJobs(context, job);
    if (!response.ok()) return Fail(context, response.error());
    const v1::JobView& view = response->jobs(0).view();
    const std::string who = NameWithId(view.name(), view.id());
    const std::string no_rank = rank_ ? NoRankText(view, *rank_) : "";
    if (!no_rank.empty()) return Fail(context, {base::Code::kNotFound, no_rank});
    context.err << "note: " << who << " has no points"
                << (names_.empty() ? "" : " of " + Join(Split(names_, ','), ", "))
                << (rank_ ? " of rank " + std::to_string(*rank_) : "")
                << (HasEnded(view) ? "" : " yet") << std::endl;
    return kExitOk;
  }

  base::Result<v1::MetricsRequest> Request() const {
    v1::MetricsRequest request;
    const base::Result<std::vector<job::Metric>> metrics = ParseMetricNames(names_);
    if (!metrics.ok()) return metrics.error();
    for (const job::Metric metric : *metrics) request.add_names(std::string(job::Name(metric)));
    if (rank_) request.set_rank(*rank_);
    return request;
  }

  // How many. Long runs have millions of points: they go through without being kept.
  static base::Result<int64_t> StreamLines(Context& context, Api& api,
                                           const v1::MetricsRequest& request) {
    int64_t points = 0;
    const base::Status status = api.Metrics(request, [&](const v1::MetricsResponse& response) {
      points += response.points_size();
      for (const v1::MetricPoint& point : response.points())
        context.out << RenderLine(record::PointRecord(point));
      return static_cast<bool>(context.out);
    });
    context.out << std::flush;
    if (!status.ok()) return status.error();
    return points;
  }

  static base::Result<int64_t> PrintAll(Context& context, Api& api,
                                        const v1::MetricsRequest& request) {
    Listing listing{.collection = "points",
                    .table = TextTable(
                        {{"METRIC"}, {"STEP", true}, {"RANK", true}, {"PHASE"}, {"VALUE", true}}),
                    .columns = record::PointColumns(),
                    .name_key = "name"};
    const base::Status status =
        api.Metrics(request, [&listing](const v1::MetricsResponse& response) {
          for (const v1::MetricPoint& point : response.points()) {
            listing.records.push_back(record::PointRecord(point));
            listing.table.AddRow(PointRow(point));
          }
          return true;
        });
    if (!status.ok()) return status.error();
    Print(context, listing);
    return static_cast<int64_t>(listing.records.size());
  }

  std::string job_;
  std::string names_;
  std::optional<int64_t> rank_;
};

}  // namespace

std::unique_ptr<Verb> MakeMetrics() { return std::make_unique<Metrics>(); }

}  // namespace trainctl::client
