#include "server/core/queue.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/estimate/gradient_holding.h"

namespace trainctl::core {

Demand DemandOf(const job::JobSpec& spec, const std::optional<job::Inspection>& inspection) {
  Demand demand = {.devices = spec.devices,
                   .precision = spec.precision,
                   .constraints = spec.resources.constraints,
                   .exclusive = spec.exclusive};
  if (!inspection) return demand;
  const auto need = [&](job::DeviceKind kind) {
    const int64_t peak = job::EstimateMemoryOn(spec, *inspection, kind, 0).peak_allocated;
    return std::min(peak, spec.resources.gpu_memory_limit_bytes.value_or(peak));
  };
  demand.gpu_bytes = need(job::DeviceKind::kCuda);
  demand.slot_bytes = need(job::DeviceKind::kCpu);
  return demand;
}

std::optional<Place> Queue::Lane::FirstWithin(int64_t micros) const {
  std::optional<Place> first;
  for (auto next = by_length.begin(); next != by_length.end() && next->first <= micros; ++next) {
    if (!first || *next->second.begin() < *first) first = *next->second.begin();
  }
  return first;
}

void Queue::Add(const Demand& wanted, const Place& place, Length length) {
  auto& [demand, lane] = *lanes_.try_emplace(wanted).first;
  if (!lane.jobs.empty()) heads_.erase(*lane.jobs.begin());
  CHECK(lane.jobs.insert(place).second) << base::ToString(place.job) << " is queued already";
  if (length) lane.by_length[*length].insert(place);
  heads_.emplace(*lane.jobs.begin(), &demand);
  ++size_;
}

void Queue::Remove(const Demand& wanted, const Place& place, Length length) {
  const auto found = lanes_.find(wanted);
  CHECK(found != lanes_.end()) << base::ToString(place.job) << " is not queued";
  auto& [demand, lane] = *found;
  heads_.erase(*lane.jobs.begin());
  CHECK(lane.jobs.erase(place) == 1) << base::ToString(place.job) << " is not queued";
  if (length) {
    const auto alike = lane.by_length.find(*length);
    CHECK(alike != lane.by_length.end() && alike->second.erase(place) == 1)
        << base::ToString(place.job) << " is queued with another length than " << *length;
    if (alike->second.empty()) lane.by_length.erase(alike);
  }
  --size_;
  if (lane.jobs.empty()) {
    lanes_.erase(found);
  } else {
    heads_.emplace(*lane.jobs.begin(), &demand);
  }
}

}  // namespace trainctl::core
