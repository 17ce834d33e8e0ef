#include "common/record/way_record.h"

#include <algorithm>
#include <optional>

#include "common/estimate/memory_estimate.h"

namespace trainctl::record {

Json WayRecord(const job::JobSpec& job, const advice::Way& way) {
  const std::optional<double> energy = way.energy_joules();
  const job::TimeEstimate* ran = way.of_runs();
  const bool by_rates = way.time && way.time->earlier_runs == 0;
  return {{"overrides", advice::OverridesOf(job, way)},
          {"devices", way.job.devices},
          {"total_seconds", way.time ? Json(way.time->total_seconds) : Json(nullptr)},
          {"step_seconds", way.time ? Json(way.time->step_seconds) : Json(nullptr)},
          {"energy_joules", energy ? Json(*energy) : Json(nullptr)},
          {"time_from", advice::SourceOfTime(way)},
          {"rates_factor", by_rates ? Json(way.rates_factor) : Json(nullptr)},
          {"measured_total_seconds", ran ? Json(ran->total_seconds) : Json(nullptr)},
          {"measured_step_seconds", ran ? Json(ran->step_seconds) : Json(nullptr)},
          {"earlier_runs", way.time ? Json(ran ? ran->earlier_runs : 0) : Json(nullptr)},
          {"disturbed", way.time ? Json(ran && ran->disturbed) : Json(nullptr)},
          {"peak_allocated_bytes", way.peak_bytes()},
          {"limit_bytes", way.limit_bytes},
          {"memory", Json::parse(job::ToJson(way.memory))}};
}

int64_t HeldBytes(const advice::Way& way, const job::MemoryKind& kind, job::DeviceKind device) {
  const job::MemoryByKind& held =
      way.memory.phases[static_cast<size_t>(job::Phase::kAfterBackward)];
  if (kind.bytes != &job::MemoryByKind::other) return held.*kind.bytes;
  const int64_t host = device == job::DeviceKind::kCpu ? held.optimizer_cpu : 0;
  return std::max<int64_t>(0, way.peak_bytes() - held.params - held.grads - held.optimizer - host);
}

std::vector<job::MemoryKind> KindsOf(const std::vector<advice::Way>& ways, job::DeviceKind device) {
  std::vector<job::MemoryKind> kinds;
  for (const job::MemoryKind& kind : job::kMemoryKinds) {
    const bool is_there = std::ranges::any_of(
        ways, [&](const advice::Way& way) { return HeldBytes(way, kind, device) > 0; });
    if (kind.is_part && is_there) kinds.push_back(kind);
  }
  return kinds;
}

}  // namespace trainctl::record
