#include "server/web/documents.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/rank/metric.h"
#include "common/record/memory_record.h"
#include "common/record/way_record.h"

namespace trainctl::web {
namespace {

using record::Json;

// With the peak by kind, as `trainctl advise --by-kind` has it.
Json WayDocument(const coordinator::JobAdvice& advice, const advice::Way& way) {
  Json document = record::WayRecord(advice.job, way);
  Json& kinds = document["peak_by_kind"] = Json::array();
  for (const job::MemoryKind& kind : record::KindsOf({way}, advice.device_kind)) {
    kinds.push_back({{"kind", kind.name},
                     {"label", kind.label},
                     {"bytes", record::HeldBytes(way, kind, advice.device_kind)}});
  }
  return document;
}

Json ExclusionRecord(const advice::Exclusion& exclusion) {
  Json record = {{"reason", exclusion.reason}, {"ways", exclusion.ways}};
  if (exclusion.least_peak_bytes) record["least_peak_bytes"] = *exclusion.least_peak_bytes;
  return record;
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
  for (const advice::Way& way : advice.front) front.push_back(WayDocument(advice, way));
  for (const advice::Way& way : advice.ways.fitting) {
    if (way.time) fitting.push_back({way.time->total_seconds, way.peak_bytes(), way.is_measured()});
  }
  for (const advice::Exclusion& exclusion : advice.ways.excluded)
    excluded.push_back(ExclusionRecord(exclusion));
  Json asked = WayDocument(advice, advice.ways.asked);
  const std::string& refused = advice.ways.asked_refused;
  asked["refused"] = refused.empty() ? Json(nullptr) : Json(refused);
  return {{"name", advice.job.name},
          {"device", advice.device_name},
          {"devices", advice.devices},
          {"devices_left_out", advice.devices_left_out},
          {"considered", advice.ways.considered},
          {"limit_bytes", advice.ways.asked.limit_bytes},
          {"asked", std::move(asked)},
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
