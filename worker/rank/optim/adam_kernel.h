// AdamW of one run of fp32 parameters on the CPU, in three instruction sets that agree bit for bit:
// every product and sum is rounded where the formulas below say, never elsewhere. One pass: the
// parameter, both moments and the gradient are read once, what changes is written once. Plain
// pointers, no LibTorch: the files behind it are compiled for instruction sets that this machine
// may not have. Thread-safe.
#pragma once

#include <cstdint>
#include <span>

#include "worker/rank/ops/adamw_factors.h"

namespace trainctl::optim {

// As the fused CUDA kernel's (worker/rank/ops/fused_optimizer.cu), all in fp32, by the step's
// factors; fma(a, b, c) is a · b + c rounded once:
//   g = grad · grad_scale
//   m = fma(beta1, m, (1 − beta1) · g)
//   v = fma(beta2, v, (1 − beta2) · g · g)
//   parameter = fma(parameter, decay, −(step_size · m / fma(√v, second_scale, eps)))
struct AdamRule {
  ops::AdamWFactors factors;
  float grad_scale = 1;
};

enum class AdamOut { kNone, kBf16, kF32 };

// count parameters in a row.
struct AdamTile {
  int64_t count = 0;
  float* master = nullptr;
  float* first = nullptr;
  float* second = nullptr;
  bool bf16_grad = false;  // else fp32
  const void* grad = nullptr;
  AdamOut out_type = AdamOut::kNone;
  void* out = nullptr;  // the updated parameters again, rounded to nearest even; written past the
                        // caches where it is 64-byte aligned

  // Elements [begin, end).
  AdamTile Part(int64_t begin, int64_t end) const;
};

using AdamKernel = void (*)(const AdamRule& rule, const AdamTile& tile);

void AdamScalar(const AdamRule& rule, const AdamTile& tile);
void AdamAvx2(const AdamRule& rule, const AdamTile& tile);
void AdamAvx512(const AdamRule& rule, const AdamTile& tile);

struct AdamPath {
  const char* name;
  AdamKernel kernel;
};
// What this CPU can run, the fastest first; the last is scalar.
std::span<const AdamPath> AdamPaths();

}  // namespace trainctl::optim
