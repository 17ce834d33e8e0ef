#include "server/core/queue.h"

#include "common/base/check.h"

namespace trainctl::core {
namespace {

Place PlaceOf(const job::JobSpec& spec, base::JobId job) { return {spec.resources.priority, job}; }

}  // namespace

Demand DemandOf(const job::JobSpec& spec) { return {spec.devices, spec.resources.constraints}; }

void Queue::Add(const job::JobSpec& spec, base::JobId job) {
  auto& [demand, jobs] = *lanes_.try_emplace(DemandOf(spec)).first;
  if (!jobs.empty()) heads_.erase(*jobs.begin());
  CHECK(jobs.insert(PlaceOf(spec, job)).second) << base::ToString(job) << " is queued already";
  heads_.emplace(*jobs.begin(), &demand);
  ++size_;
}

void Queue::Remove(const job::JobSpec& spec, base::JobId job) {
  const auto lane = lanes_.find(DemandOf(spec));
  CHECK(lane != lanes_.end()) << base::ToString(job) << " is not queued";
  auto& [demand, jobs] = *lane;
  heads_.erase(*jobs.begin());
  CHECK(jobs.erase(PlaceOf(spec, job)) == 1) << base::ToString(job) << " is not queued";
  --size_;
  if (jobs.empty()) {
    lanes_.erase(lane);
  } else {
    heads_.emplace(*jobs.begin(), &demand);
  }
}

}  // namespace trainctl::core
