#include "worker/rank/ops/adamw_factors.h"

#include <cmath>

#include "worker/rank/ops/fused.h"

namespace trainctl::ops {

AdamWFactors FactorsOf(const fused::AdamWStep& step) {
  const double first_correction = 1 - std::pow(step.beta1, static_cast<double>(step.step));
  const double second_correction = 1 - std::pow(step.beta2, static_cast<double>(step.step));
  return {.decay = static_cast<float>(1 - step.lr * step.weight_decay),
          .beta1 = static_cast<float>(step.beta1),
          .one_minus_beta1 = static_cast<float>(1 - step.beta1),
          .beta2 = static_cast<float>(step.beta2),
          .one_minus_beta2 = static_cast<float>(1 - step.beta2),
          .step_size = static_cast<float>(step.lr / first_correction),
          .second_scale = static_cast<float>(1 / std::sqrt(second_correction)),
          .eps = static_cast<float>(step.eps)};
}

}  // namespace trainctl::ops
