#include "client/plot/read_curves.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "client/show/format.h"

namespace trainctl::client {
namespace {

constexpr int64_t kGang = -1;

// The points of one metric and rank; those of a phase come behind those of another.
struct Series {
  std::vector<std::pair<int64_t, Sample>> points;  // by step
  std::vector<Sample> not_finite;                  // of any phase
  bool has_phases = false;
};

using Key = std::pair<std::string, int64_t>;  // metric and rank

// The largest of each step.
std::vector<Sample> SamplesOf(Series series) {
  if (series.has_phases) {
    std::ranges::stable_sort(series.points, {}, &std::pair<int64_t, Sample>::first);
  }
  std::vector<Sample> samples;
  int64_t last_step = -1;
  for (const auto& [step, sample] : series.points) {
    if (samples.empty() || step != last_step) {
      samples.push_back(sample);
    } else if (sample.y > samples.back().y) {
      samples.back() = sample;
    }
    last_step = step;
  }
  return samples;
}

std::string LabelOf(const v1::JobView& job, const Key& key, const CurvesWanted& wanted,
                    bool several_ranks) {
  std::string label = NameWithId(job.name(), job.id());
  if (wanted.metrics.size() > 1) label += ", " + key.first;
  if (key.second != kGang && (several_ranks || wanted.rank))
    label += ", rank " + std::to_string(key.second);
  return label;
}

// One without a number is the lowest.
double HighestOf(const Curve& curve) {
  double highest = -std::numeric_limits<double>::infinity();
  for (const Sample& sample : curve.samples) highest = std::max(highest, sample.y);
  return highest;
}

// Of one metric, if they are more than `most`: the first of those with the highest value.
void KeepHighest(size_t most, std::vector<Curve>* ranks) {
  if (ranks->size() <= most) return;
  const size_t count = ranks->size();
  Curve highest = std::move(*std::ranges::max_element(*ranks, {}, HighestOf));
  highest.label += ", the highest of " + std::to_string(count);
  *ranks = {std::move(highest)};
}

}  // namespace

base::Result<std::vector<Curve>> ReadCurves(Api& api, const v1::JobView& job,
                                            const CurvesWanted& wanted) {
  v1::MetricsRequest request;
  request.set_job(job.id());
  for (const job::Metric metric : wanted.metrics) request.add_names(std::string(job::Name(metric)));
  std::map<Key, Series> all;
  int64_t start = job.started_at();
  const base::Status read = api.Metrics(request, [&](const v1::MetricsResponse& response) {
    for (const v1::MetricPoint& point : response.points()) {
      const int64_t rank = point.has_rank() ? point.rank() : kGang;
      if (wanted.rank && rank != kGang && rank != *wanted.rank) continue;
      if (start == 0) start = point.time();
      Series& series = all[{point.name(), rank}];
      const double seconds = static_cast<double>(point.time() - start) / 1e6;
      const double x = wanted.over_time ? seconds : static_cast<double>(point.step());
      if (std::isfinite(point.value())) {
        series.points.push_back({point.step(), {x, point.value()}});
      } else {
        series.not_finite.push_back({x, point.value()});
      }
      series.has_phases = series.has_phases || !point.phase().empty();
    }
    return true;
  });
  if (!read.ok()) return read.error();
  const bool several_ranks =
      std::ranges::any_of(all, [](const auto& entry) { return entry.first.second > 0; });
  std::vector<Curve> curves;
  for (const job::Metric metric : wanted.metrics) {
    std::vector<Curve> ranks;
    for (auto& [key, series] : all) {
      if (key.first != job::Name(metric)) continue;
      std::vector<Sample> not_finite = std::move(series.not_finite);
      std::ranges::stable_sort(not_finite, {}, &Sample::x);
      ranks.push_back({.label = LabelOf(job, key, wanted, several_ranks),
                       .samples = SamplesOf(std::move(series)),
                       .not_finite = std::move(not_finite)});
    }
    if (wanted.most_ranks) KeepHighest(*wanted.most_ranks, &ranks);
    std::ranges::move(ranks, std::back_inserter(curves));
  }
  return curves;
}

std::string TitleOf(const std::vector<job::Metric>& metrics) {
  std::vector<std::string_view> labels;
  for (const job::Metric metric : metrics) labels.push_back(job::Info(metric).label);
  return Join(labels, ", ");
}

}  // namespace trainctl::client
