// at's dtypes as the fused kernels name them.
#pragma once

#include <c10/core/ScalarType.h>

#include "common/base/check.h"
#include "worker/rank/ops/fused.h"

namespace trainctl::ops {

// bf16 or fp32; others never reach the fused kernels.
inline fused::Type ElementType(at::ScalarType type) {
  CHECK(type == at::kBFloat16 || type == at::kFloat)
      << "dtype " << c10::toString(type) << " in a fused kernel";
  return type == at::kBFloat16 ? fused::Type::kBf16 : fused::Type::kF32;
}

}  // namespace trainctl::ops
