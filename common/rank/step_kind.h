// What a step's time goes into, as a profile tells it. The kinds partition a step: each moment of
// it is of one kind, the first of this order that is at work.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "common/rank/metric.h"

namespace trainctl::job {

enum class StepKind {
  kMatmul,
  kAttention,
  kOptimizer,
  kOther,          // kernels and operators that are none of these
  kCommunication,  // collectives while nothing is computed
  kCopies,         // copies and fills while there is neither
  kData,           // the host waits for its micro batch, and the device for the host
  kHost,           // nothing is at work: the host issues, reads back, or does what is not traced
};

inline constexpr size_t kStepKinds = 8;

// The metric that has the seconds a step of each kind, in the kinds' order.
inline constexpr std::array<Metric, kStepKinds> kStepKindMetrics = {
    Metric::kProfileMatmul, Metric::kProfileAttention,     Metric::kProfileOptimizer,
    Metric::kProfileOther,  Metric::kProfileCommunication, Metric::kProfileCopies,
    Metric::kProfileData,   Metric::kProfileHost,
};

}  // namespace trainctl::job
