// The checks of worker/rank/ops/fused.h's kernels, a file each (kernel_check_*.cc), and what they
// share.
#pragma once

#include <initializer_list>
#include <string>

#include "tests/gpu/kernel_compare.h"

namespace trainctl::gpu {

void CheckNorms(Checks& checks);
void CheckColumnSums(Checks& checks);
void CheckRope(Checks& checks);
void CheckSwiGlus(Checks& checks);
void CheckGelus(Checks& checks);
void CheckCrossEntropies(Checks& checks);
void CheckEmbeddings(Checks& checks);
void CheckDropouts(Checks& checks);
void CheckNf4s(Checks& checks);
void CheckAttentions(Checks& checks);
void CheckFlat(Checks& checks);      // optimizers and the gradient norm
void CheckRefusals(Checks& checks);  // what must be refused, and what is nothing

inline constexpr at::ScalarType kTypes[] = {at::kBFloat16, at::kFloat};

inline std::string NameOf(at::ScalarType type) { return type == at::kBFloat16 ? "bf16" : "fp32"; }

inline std::string Text(std::initializer_list<int64_t> numbers) {
  std::string text;
  for (const int64_t number : numbers) {
    text += " " + std::to_string(number);
  }
  return text;
}

}  // namespace trainctl::gpu
