// What a precision means for storage. Pure.
#pragma once

#include <c10/core/ScalarType.h>

#include "common/job/job.h"

namespace trainctl::strategy {

//                        master        compute   gradient
//   32-true              fp32          master    fp32
//   bf16-true            bf16          master    bf16
//   bf16-mixed           fp32          bf16      fp32
//   offload_optimizer    fp32, host    as above  as above
// Moments are the optimizer's affair (of the master's dtype). Frozen weights are stored in the
// compute dtype only.
struct Dtypes {
  c10::ScalarType master = c10::kFloat;
  c10::ScalarType compute = c10::kFloat;
  c10::ScalarType grad = c10::kFloat;
  bool separate_compute = false;  // a compute copy is kept beside the master
};

inline Dtypes DtypesOf(const job::JobSpec& job) {
  Dtypes dtypes;
  if (job.precision == job::Precision::kBf16True) dtypes.master = dtypes.grad = c10::kBFloat16;
  if (job.precision != job::Precision::k32True) dtypes.compute = c10::kBFloat16;
  if (job.offload_optimizer) dtypes.master = c10::kFloat;
  dtypes.separate_compute = job.offload_optimizer || dtypes.master != dtypes.compute;
  return dtypes;
}

}  // namespace trainctl::strategy
