// A curve with few points that looks like the one with many: of each bucket of neighbours its
// lowest and its highest point, so that no spike is lost. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/rank/metric.h"

namespace trainctl::web {

struct CurvePoint {
  int64_t step = 0;
  base::WallMicros time = 0;
  double value = 0;  // NaN: diverged
};

// Takes points in order of step, however many; holds at most 2 × buckets buckets. When those are
// full, each two neighbours become one.
class Curve {
 public:
  explicit Curve(size_t buckets) : most_(buckets) {}

  void Add(const job::MetricPoint& point);
  int64_t count() const { return count_; }
  // In order of step: at most 4 × buckets, and the first and the last of all.
  std::vector<CurvePoint> Points() const;

 private:
  // Of a bucket without a number both are its first NaN.
  struct Bucket {
    CurvePoint lowest, highest;
    int64_t count = 0;
  };
  static void Merge(const Bucket& from, Bucket* into);
  void Halve();

  size_t most_;
  int64_t stride_ = 1;  // points in a full bucket
  int64_t count_ = 0;
  std::vector<Bucket> buckets_;
  CurvePoint first_, last_;
};

}  // namespace trainctl::web
