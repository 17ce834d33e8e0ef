// How much devices and their hosts had to do in the last minutes, for who begins to look now. Means
// of half minutes; a worker that was not heard of in all of them is forgotten. The loop's thread
// only.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/job/samples.h"

namespace trainctl::coordinator {

class RecentLoads {
 public:
  static constexpr int kBuckets = 10;
  static constexpr base::SteadyMicros kBucketMicros = 30'000'000;

  // In percent, the oldest first; the last is of the half minute that goes on. nullopt: nothing was
  // told then.
  using Curve = std::array<std::optional<double>, kBuckets>;
  struct Curves {
    Curve device;  // utilization
    Curve host;    // CPU
  };

  void Add(const std::string& worker, const job::DeviceSample& device, const job::HostSample& host,
           base::SteadyMicros now);
  Curves Of(const std::string& worker, base::SteadyMicros now) const;
  size_t workers() const { return workers_.size(); }

 private:
  struct Mean {
    int64_t bucket = -1;  // its number since the clock's start
    double total = 0;
    int64_t count = 0;
  };
  using Ring = std::array<Mean, kBuckets>;
  struct Rings {
    Ring device, host;
    int64_t newest = 0;  // bucket
  };
  static void Note(double percent, int64_t bucket, Ring* ring);
  static Curve CurveOf(const Ring& ring, int64_t bucket);
  void ForgetOld(int64_t bucket);

  std::map<std::string, Rings> workers_;
  int64_t looked_through_ = 0;  // in which bucket
};

}  // namespace trainctl::coordinator
