#include "server/web/advice_document.h"

namespace trainctl::web {
namespace {

using record::Json;

Json WayRecord(const job::JobSpec& job, const advice::Way& way) {
  const auto of_time = [&way](auto member) {
    return way.time ? Json(*way.time.*member) : Json(nullptr);
  };
  const std::optional<double> energy = way.energy_joules();
  return {{"overrides", advice::OverridesOf(job, way)},
          {"devices", way.job.devices},
          {"total_seconds", of_time(&job::TimeEstimate::total_seconds)},
          {"step_seconds", of_time(&job::TimeEstimate::step_seconds)},
          {"energy_joules", energy ? Json(*energy) : Json(nullptr)},
          {"earlier_runs", of_time(&job::TimeEstimate::earlier_runs)},
          {"peak_allocated_bytes", way.peak_bytes()}};
}

}  // namespace

Json AdviceDocument(const coordinator::JobAdvice& advice) {
  Json front = Json::array(), fitting = Json::array(), excluded = Json::array();
  for (const advice::Way& way : advice.front) front.push_back(WayRecord(advice.job, way));
  for (const advice::Way& way : advice.ways.fitting) {
    if (way.time) fitting.push_back({way.time->total_seconds, way.peak_bytes()});
  }
  for (const advice::Exclusion& exclusion : advice.ways.excluded)
    excluded.push_back({{"reason", exclusion.reason}, {"ways", exclusion.ways}});
  return {{"name", advice.job.name},
          {"device", advice.device_name},
          {"devices", advice.devices},
          {"considered", advice.ways.considered},
          {"limit_bytes", advice.ways.asked.limit_bytes},
          {"asked", WayRecord(advice.job, advice.ways.asked)},
          {"front", std::move(front)},
          {"fitting", std::move(fitting)},
          {"excluded", std::move(excluded)}};
}

}  // namespace trainctl::web
