// Whether the devices of a site can hold a job, by its memory estimate. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/estimate/inspection.h"
#include "common/job/job.h"
#include "common/job/site.h"
#include "common/json/problem.h"
#include "common/rank/rank_plan.h"

namespace trainctl::job {

// The memory that a rank may use on a device: the job's own limit, or the device's size where that
// is smaller or no limit is set.
int64_t MemoryLimit(const JobSpec& job, const SiteDevice& device);

// The share of a device that a prediction may fill where the choice is ours: the rest is for the
// driver's context, NCCL's buffers, fragments, and the prediction's error.
inline constexpr double kSafeShare = 0.94;

inline bool FitsSafely(int64_t peak_bytes, int64_t limit_bytes) {
  return static_cast<double>(peak_bytes) <= kSafeShare * static_cast<double>(limit_bytes);
}

// A job on the roomiest devices of one kind.
struct Fit {
  DeviceKind kind = DeviceKind::kCuda;
  int64_t peak_bytes = 0;   // predicted, a rank
  int64_t limit_bytes = 0;  // of the smallest device that the gang can't do without

  bool fits() const { return peak_bytes <= limit_bytes; }
};

// On GPUs or on CPU slots, where the job fits; else where it comes nearest. Only devices that meet
// the constraints count, and only kinds of which there are enough. nullopt: there are none, or
// their sizes are not known.
std::optional<Fit> BestFit(const JobSpec& job, const Inspection& inspection,
                           const std::vector<SiteDevice>& devices);

// Empty if some devices can hold the job, or if nothing is known of their size. Empty too if the
// job expects to run out of memory. Else one problem that says what is predicted, what there is,
// and which settings would fit (fitting_settings.h).
std::vector<Problem> CheckFit(const JobSpec& job, const Inspection& inspection,
                              const std::vector<SiteDevice>& devices);

}  // namespace trainctl::job
