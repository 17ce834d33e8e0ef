// Element types of files, of jobs and of tensors.
#pragma once

#include <c10/core/ScalarType.h>

#include <optional>

#include "common/job/job.h"
#include "worker/rank/files/tensor_info.h"

namespace trainctl::train {

// nullopt: LibTorch has no such type, or nothing here holds it.
std::optional<at::ScalarType> ScalarTypeOf(files::DType dtype);
at::ScalarType ScalarTypeOf(job::WeightsType type);
// CHECKs that files of ours have such a type.
files::DType DTypeOf(at::ScalarType type);

}  // namespace trainctl::train
