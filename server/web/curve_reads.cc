#include "server/web/curve_reads.h"

#include <limits>
#include <utility>

#include "common/base/utf8.h"
#include "common/rank/metric.h"

namespace trainctl::web {
namespace {

constexpr int64_t kMostBuckets = 2000;
constexpr int64_t kUsualBuckets = 300;

record::Json CurveRecord(const RankCurve& curve) {
  record::Json steps = record::Json::array(), times = steps, values = steps;
  for (const CurvePoint& point : curve.curve.Points()) {
    steps.push_back(point.step);
    times.push_back(record::Seconds(point.time));
    values.push_back(point.value);
  }
  return {{"rank", curve.rank ? record::Json(*curve.rank) : record::Json(nullptr)},
          {"phase", Name(curve.phase)},
          {"count", curve.curve.count()},
          {"steps", std::move(steps)},
          {"times", std::move(times)},
          {"values", std::move(values)}};
}

}  // namespace

base::Result<CurveQuestion> CurveQuestionOf(const Target& target) {
  CurveQuestion question{target.One("job"), target.One("name")};
  if (job::FindMetric(question.metric) == nullptr) {
    return base::Error{base::Code::kInvalid,
                       "name: '" + base::Excerpt(question.metric, 64) + "': no such metric"};
  }
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  const auto points = NumberOf(target, "points", {10, kMostBuckets, kUsualBuckets});
  if (!points) return points.error();
  const auto from = NumberOf(target, "from", {0, kLast, std::numeric_limits<int64_t>::min()});
  if (!from) return from.error();
  const auto to = NumberOf(target, "to", {0, kLast, kLast});
  if (!to) return to.error();
  question.buckets = *points / 2;
  question.first_step = *from;
  question.last_step = *to;
  return question;
}

record::Json CurvesDocument(const Curves& curves) {
  const job::MetricInfo* metric = job::FindMetric(curves.metric);
  record::Json records = record::Json::array();
  for (const RankCurve& curve : curves.curves) records.push_back(CurveRecord(curve));
  return {{"job", base::ToString(curves.job)},
          {"name", curves.name},
          {"metric", curves.metric},
          {"label", metric == nullptr ? curves.metric : std::string(metric->label)},
          {"unit", metric == nullptr ? "" : std::string(metric->unit)},
          {"phase", job::Name(metric == nullptr ? job::Phase() : metric->chart.phase)},
          {"started_at", record::Seconds(curves.started_at)},
          {"curves", std::move(records)},
          {"left_out", curves.left_out}};
}

}  // namespace trainctl::web
