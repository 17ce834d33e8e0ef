#include "server/coordinator/recent_loads.h"

#include <cmath>

namespace trainctl::coordinator {

void RecentLoads::Add(const std::string& worker, const job::DeviceSample& device,
                      const job::HostSample& host, base::SteadyMicros now) {
  const int64_t bucket = now / kBucketMicros;
  ForgetOld(bucket);
  Rings& rings = workers_[worker];
  rings.newest = bucket;
  if (device.utilization_percent) Note(*device.utilization_percent, bucket, &rings.device);
  Note(host.cpu_percent, bucket, &rings.host);
}

RecentLoads::Curves RecentLoads::Of(const std::string& worker, base::SteadyMicros now) const {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return {};
  const int64_t bucket = now / kBucketMicros;
  return {CurveOf(found->second.device, bucket), CurveOf(found->second.host, bucket)};
}

void RecentLoads::Note(double percent, int64_t bucket, Ring* ring) {
  if (!std::isfinite(percent)) return;
  Mean& mean = (*ring)[static_cast<size_t>(bucket % kBuckets)];
  if (mean.bucket != bucket) mean = {.bucket = bucket};
  mean.total += percent;
  ++mean.count;
}

RecentLoads::Curve RecentLoads::CurveOf(const Ring& ring, int64_t bucket) {
  Curve curve;
  for (const Mean& mean : ring) {
    const int64_t age = bucket - mean.bucket;
    if (mean.bucket < 0 || age < 0 || age >= kBuckets) continue;
    curve[static_cast<size_t>(kBuckets - 1 - age)] = mean.total / static_cast<double>(mean.count);
  }
  return curve;
}

// Once in each bucket.
void RecentLoads::ForgetOld(int64_t bucket) {
  if (bucket == looked_through_) return;
  looked_through_ = bucket;
  std::erase_if(workers_,
                [bucket](const auto& worker) { return bucket - worker.second.newest >= kBuckets; });
}

}  // namespace trainctl::coordinator
