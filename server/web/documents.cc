#include "server/web/documents.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/rank/metric.h"
#include "common/record/memory_record.h"

namespace trainctl::web {
namespace {

using record::Json;

Json WayRecord(const job::JobSpec& job, const advice::Way& way) {
  const auto of_time = [&way](auto member) {
    return way.time ? Json(*way.time.*member) : Json(nullptr);
  };
  const std::optional<double> energy = way.energy_joules();
  const job::TimeEstimate* ran = way.of_runs();
  return {{"overrides", advice::OverridesOf(job, way)},
          {"devices", way.job.devices},
          {"total_seconds", of_time(&job::TimeEstimate::total_seconds)},
          {"step_seconds", of_time(&job::TimeEstimate::step_seconds)},
          {"energy_joules", energy ? Json(*energy) : Json(nullptr)},
          {"time_from", advice::SourceOfTime(way)},
          {"earlier_runs", way.time ? Json(ran ? ran->earlier_runs : 0) : Json(nullptr)},
          {"disturbed", way.time ? Json(ran && ran->disturbed) : Json(nullptr)},
          {"peak_allocated_bytes", way.peak_bytes()}};
}

std::optional<int64_t> SmallestDevice(const v1::JobView& view, const v1::WorkersResponse& site) {
  std::optional<int64_t> smallest;
  for (const v1::WorkerView& worker : site.workers()) {
    const auto& placement = view.placement();
    if (std::find(placement.begin(), placement.end(), worker.name()) == placement.end()) continue;
    const int64_t bytes = worker.device().memory_bytes();
    if (bytes > 0) smallest = std::min(smallest.value_or(bytes), bytes);
  }
  return smallest;
}

// A total of another metric's points has none of its own.
bool HasPoints(const job::MetricInfo& metric) {
  return metric.reduction != job::Reduction::kTotal || metric.of == metric.id;
}

std::vector<std::vector<const job::MetricInfo*>> Charts() {
  std::map<int, std::vector<const job::MetricInfo*>> by_place;
  for (const job::MetricInfo& metric : job::Metrics()) {
    if (metric.chart.place > 0) by_place[metric.chart.place].push_back(&metric);
  }
  std::vector<std::vector<const job::MetricInfo*>> charts;
  for (auto& [place, chart] : by_place) charts.push_back(std::move(chart));
  return charts;
}

}  // namespace

Json AdviceDocument(const coordinator::JobAdvice& advice) {
  Json front = Json::array(), fitting = Json::array(), excluded = Json::array();
  for (const advice::Way& way : advice.front) front.push_back(WayRecord(advice.job, way));
  for (const advice::Way& way : advice.ways.fitting) {
    if (way.time) fitting.push_back({way.time->total_seconds, way.peak_bytes(), way.is_measured()});
  }
  for (const advice::Exclusion& exclusion : advice.ways.excluded)
    excluded.push_back({{"reason", exclusion.reason}, {"ways", exclusion.ways}});
  return {{"name", advice.job.name},
          {"device", advice.device_name},
          {"devices", advice.devices},
          {"devices_left_out", advice.devices_left_out},
          {"considered", advice.ways.considered},
          {"limit_bytes", advice.ways.asked.limit_bytes},
          {"asked", WayRecord(advice.job, advice.ways.asked)},
          {"front", std::move(front)},
          {"fitting", std::move(fitting)},
          {"excluded", std::move(excluded)}};
}

Json MemoryDocument(const v1::JobDetail& detail, const v1::WorkersResponse& site) {
  Json rows = Json::array();
  for (const record::MemoryRow& row : record::MemoryRows(detail)) {
    Json one = record::MemoryRecord(row);
    one["label"] = row.kind->label;
    one["is_part"] = row.kind->is_part;
    rows.push_back(std::move(one));
  }
  const auto limit = record::MemoryLimit(detail, SmallestDevice(detail.view(), site));
  return {{"rows", rows}, {"limit_bytes", limit ? Json(*limit) : Json(nullptr)}};
}

Json MetricsDocument() {
  Json metrics = Json::array(), charts = Json::array();
  for (const job::MetricInfo& metric : job::Metrics()) {
    if (!HasPoints(metric)) continue;
    metrics.push_back({{"name", metric.name},
                       {"label", metric.label},
                       {"unit", metric.unit},
                       {"section", job::Name(metric.section)}});
  }
  for (const std::vector<const job::MetricInfo*>& chart : Charts()) {
    Json names = Json::array();
    for (const job::MetricInfo* metric : chart) names.push_back(metric->name);
    charts.push_back({{"title", chart.front()->chart.title}, {"metrics", std::move(names)}});
  }
  return {{"metrics", std::move(metrics)}, {"charts", std::move(charts)}};
}

}  // namespace trainctl::web
