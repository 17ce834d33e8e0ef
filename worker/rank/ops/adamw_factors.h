// What a step of AdamW multiplies by, the same in every kernel that makes one: on the GPU
// (fused_optimizer.cu, fused_adamw8bit.cu) and on the CPU (worker/rank/optim/adam_kernel.h).
// Computed in fp64, each rounded to fp32 once.
#pragma once

namespace trainctl::ops {

namespace fused {
struct AdamWStep;
}

struct AdamWFactors {
  float decay = 1;            // 1 − lr · weight_decay
  float beta1 = 0;            //
  float one_minus_beta1 = 1;  //
  float beta2 = 0;            //
  float one_minus_beta2 = 1;  //
  float step_size = 0;        // lr / (1 − beta1^step)
  float second_scale = 1;     // 1 / √(1 − beta2^step)
  float eps = 0;              //
};

AdamWFactors FactorsOf(const fused::AdamWStep& step);

}  // namespace trainctl::ops
