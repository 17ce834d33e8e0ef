// AdamW's rule (Loshchilov and Hutter 2019) for one parameter, whatever its moments are kept in.
#pragma once

#include "worker/rank/ops/adamw_factors.h"

namespace trainctl::ops::fused {

// The parameter after a step whose moments are first and second. All in fp32.
__device__ inline float AdamWUpdated(const AdamWFactors& factors, float parameter, float first,
                                     float second) {
  return parameter * factors.decay -
         factors.step_size * first / (sqrtf(second) * factors.second_scale + factors.eps);
}

}  // namespace trainctl::ops::fused
