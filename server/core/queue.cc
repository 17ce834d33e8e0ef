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

void Queue::Add(const Demand& wanted, const Place& place) {
  auto& [demand, jobs] = *lanes_.try_emplace(wanted).first;
  if (!jobs.empty()) heads_.erase(*jobs.begin());
  CHECK(jobs.insert(place).second) << base::ToString(place.job) << " is queued already";
  heads_.emplace(*jobs.begin(), &demand);
  ++size_;
}

void Queue::Remove(const Demand& wanted, const Place& place) {
  const auto lane = lanes_.find(wanted);
  CHECK(lane != lanes_.end()) << base::ToString(place.job) << " is not queued";
  auto& [demand, jobs] = *lane;
  heads_.erase(*jobs.begin());
  CHECK(jobs.erase(place) == 1) << base::ToString(place.job) << " is not queued";
  --size_;
  if (jobs.empty()) {
    lanes_.erase(lane);
  } else {
    heads_.emplace(*jobs.begin(), &demand);
  }
}

}  // namespace trainctl::core
