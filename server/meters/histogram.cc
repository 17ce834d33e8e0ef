#include "server/meters/histogram.h"

#include <algorithm>
#include <numeric>

namespace trainctl::meters {

int64_t Histogram::Counts::all() const {
  return std::accumulate(buckets.begin(), buckets.end(), int64_t{0});
}

void Histogram::Add(int64_t micros) {
  micros = std::max<int64_t>(micros, 0);
  const double seconds = static_cast<double>(micros) / 1e6;
  const auto bucket = std::ranges::lower_bound(kBounds, seconds) - kBounds.begin();
  ++buckets_[static_cast<size_t>(bucket)];
  total_micros_ += micros;
}

Histogram::Counts Histogram::Read() const {
  Counts counts;
  for (size_t i = 0; i < buckets_.size(); ++i) counts.buckets[i] = buckets_[i];
  counts.total_seconds = static_cast<double>(total_micros_) / 1e6;
  return counts;
}

}  // namespace trainctl::meters
